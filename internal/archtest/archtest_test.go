package archtest

import (
	"os"
	"strings"
	"testing"
)

// repository parses the module that this test stands in.
func repository(t *testing.T) *tree {
	t.Helper()
	tr, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.packages) < 3 {
		t.Fatalf("found %d packages; is this the module's root?", len(tr.packages))
	}
	return tr
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	tr := repository(t)
	t.Run("calls go down the spine", func(t *testing.T) { report(t, tr.upward()) })
	t.Run("what is owned is imported by its owners", func(t *testing.T) { report(t, tr.foreign(owners)) })
	t.Run("closed packages", func(t *testing.T) { report(t, tr.strayed(closedTo)) })
	t.Run("out of reach", func(t *testing.T) { report(t, tr.reached(outOfReach)) })
	t.Run("pure packages", func(t *testing.T) { report(t, tr.impure(purePackages)) })
}

func TestPackages(t *testing.T) {
	t.Parallel()
	tr := repository(t)
	t.Run("no init", func(t *testing.T) { report(t, tr.inits()) })
	t.Run("no state in package variables", func(t *testing.T) { report(t, tr.globals()) })
	t.Run("names that say something", func(t *testing.T) { report(t, tr.vague()) })
	t.Run("package comments", func(t *testing.T) { report(t, tr.silent()) })
	t.Run("exported names documented", func(t *testing.T) {
		total, missing := tr.documentation()
		if share := 1 - float64(len(missing))/float64(max(total, 1)); share < minDocumented {
			t.Errorf("%d of %d exported names have a comment, that is %.1f%%; %.0f%% are asked:\n%s",
				total-len(missing), total, share*100, minDocumented*100, strings.Join(missing, "\n"))
		}
	})
}

func TestBudget(t *testing.T) {
	t.Parallel()
	tr := repository(t)
	t.Run("functions and files", func(t *testing.T) { report(t, tr.long()) })
	t.Run("parameters and interfaces", func(t *testing.T) { report(t, tr.wide()) })
	t.Run("the code as a whole", func(t *testing.T) { report(t, tr.spread()) })
}

func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	goMod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	report(t, unexplained(string(goMod), string(document)))
}
