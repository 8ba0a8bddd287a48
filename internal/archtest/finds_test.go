package archtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// parse builds a tree from sources: path ► text.
func parse(t *testing.T, sources map[string]string) *tree {
	t.Helper()
	files := fstest.MapFS{}
	for path, text := range sources {
		files[path] = &fstest.MapFile{Data: []byte(text)}
	}
	tr, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// imports is the text of a file that imports packages.
func imports(names ...string) string {
	var b strings.Builder
	b.WriteString("package p\n")
	for _, n := range names {
		fmt.Fprintf(&b, "import _ %q\n", n)
	}
	return b.String()
}

func TestImportRulesFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	tr := parse(t, map[string]string{
		"bot/a.go":                      imports("countersign/agent", "countersign/approvals/decisions", "github.com/slack-go/slack"),
		"agent/a.go":                    imports("countersign/bot/card", "countersign/tools", "countersign/approvals/policy", "gorm.io/gorm"),
		"agent/a_test.go":               imports("countersign/internal/store", "log"),
		"agent/llm/openai/o.go":         imports("github.com/sashabaranov/go-openai"),
		"agent/llm/playbook/p.go":       imports("github.com/sashabaranov/go-openai"),
		"approvals/a.go":                imports("os", "errors"),
		"approvals/decisions/d.go":      imports("countersign/approvals"),
		"approvals/policy/p.go":         imports("countersign/approvals", "countersign/tools"),
		"tools/t.go":                    imports("countersign/internal/helping"),
		"internal/helping/h.go":         imports("countersign/approvals/decisions"),
		"bot/card/c.go":                 imports("net/http", "github.com/slack-go/slack/slackevents"),
		"localslack/l.go":               imports("countersign/localslack/page", "countersign/internal/id"),
		"localslack/page/l.go":          imports("embed"),
		"internal/id/i.go":              imports("crypto/rand"),
		"internal/store/s.go":           imports("gorm.io/gorm", "countersign/agent", "testing"),
		"internal/store/storetest/s.go": imports("testing"),
		"testdata/x.go":                 imports("countersign/bot"),
		"nested/go.mod":                 "module nested",
		"nested/x.go":                   imports("gorm.io/gorm"),
	})
	got := map[string][]string{
		"upward":  tr.upward(),
		"foreign": tr.foreign(owners),
		"strayed": tr.strayed(closedTo),
		"reached": tr.reached(outOfReach),
		"impure":  tr.impure(purePackages),
	}
	want := map[string][]string{
		"upward": {
			"agent/a.go: agent imports bot/card; calls go down: bot stands above agent",
			"approvals/policy/p.go: approvals/policy imports approvals; calls go down: approvals stands above policy",
		},
		"foreign": {
			"agent/a.go: imports gorm.io/gorm",
			"agent/a_test.go: imports log, which is for no package",
			"agent/llm/playbook/p.go: imports github.com/sashabaranov/go-openai",
			"internal/helping/h.go: imports approvals/decisions",
			"internal/store/s.go: imports testing",
		},
		"strayed": {"localslack/l.go: localslack may import of ours only localslack/...: it must stay believable as somebody else's server (internal/id)"},
		"reached": {
			"agent ► tools ► internal/helping ► approvals/decisions: the model cannot approve itself",
			"tools ► internal/helping ► approvals/decisions: the model cannot approve itself",
		},
		"impure": {"approvals/a.go: approvals imports os", "bot/card/c.go: bot/card imports net/http"},
	}
	for rule, findings := range want {
		compare(t, rule, findings, got[rule])
	}
}

// compare wants each finding to begin as said, and none beside.
func compare(t *testing.T, rule string, want, got []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: found %d, want %d:\n%s", rule, len(got), len(want), strings.Join(got, "\n"))
		return
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s: found %q, want %q …", rule, got[i], want[i])
		}
	}
}

func TestGlobalsAreFound(t *testing.T) {
	t.Parallel()
	tr := parse(t, map[string]string{"p/a.go": `// Package p is wrong in many ways.
package p

import "errors"

var ErrGone = errors.New("gone")
var table = map[string]int{"a": 1}
var list = []string{"a"}
var pattern = regexp.MustCompile("a")
var kind = reflect.TypeFor[int]()
var one, two = 1, "2"
var parsed = mustParse("a")
var raw = []byte("a"); var built = prefixes("a", "b")
var _ error = (*fail)(nil)

//go:embed x.txt
var text string

var counter int; var started = build(time.Now())
var cache = make(map[string]int)
var lock sync.Mutex
var client = http.NewClient()
var hook = func() {}

func init() {}

func change(list []string) {
	table["b"] = 2
	list[0] = "local, and so allowed"
	one++
	other := 1
	other = 2
}
`, "p/b.go": `package p

func more() { table = nil }
`, "p/a_test.go": `package p

var update = flag.Bool("update", false, "")
`})
	compare(t, "init", []string{"p/a.go:25: func init"}, tr.inits())
	compare(t, "globals", []string{
		"p/a.go:19: package variable counter",
		"p/a.go:19: package variable started",
		"p/a.go:20: package variable cache",
		"p/a.go:21: package variable lock",
		"p/a.go:22: package variable client",
		"p/a.go:23: package variable hook",
		"p/a.go:28: changes the package variable table",
		"p/a.go:30: changes the package variable one",
		"p/b.go:3: changes the package variable table",
	}, tr.globals())
}

func TestBudgetFindsWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	long := "package p\n\nfunc long() {" + strings.Repeat("\n", 80) + "}\n"
	tr := parse(t, map[string]string{
		"p/long.go":      long,
		"p/file.go":      "package p\n" + strings.Repeat("\n", 500),
		"p/file_test.go": "package p\n" + strings.Repeat("\n", 600),
		"p/gen.go":       "// Code generated by hand. DO NOT EDIT.\npackage p\n" + strings.Repeat("\n", 600),
		"p/wide.go": `package p

func six(a, b, c int, d, e, f string) {}
func five(a, b, c, d, e int)          {}

type Wide interface {
	A(); B(); C(); D(); E(); F(); G(); H()
}
`,
	})
	compare(t, "long", []string{"p/long.go:3: long has 81 lines", "p/file.go: 501 lines"}, tr.long())
	compare(t, "wide", []string{"p/wide.go:3: six takes 6 parameters", "p/wide.go:6: interface Wide asks for 8 methods"}, tr.wide())
	compare(t, "spread", nil, tr.spread())
	slow := parse(t, map[string]string{"p/a.go": "package p\n\nfunc a() {" + strings.Repeat("\n", 60) + "}\n" + strings.Repeat("\n", 300)})
	compare(t, "spread", []string{"the median function is 61 lines", "the 90th percentile of functions is 61", "the 90th percentile of files is 363"}, slow.spread())
}

func TestDocumentationIsCounted(t *testing.T) {
	t.Parallel()
	tr := parse(t, map[string]string{
		"p/a.go": `package p

// Said is said.
type Said struct{}

// Do does.
func (Said) Do() {}

func (Said) Undone() {}

type Bare struct{}

type hidden struct{}

func (hidden) Exported() {}

// All of these.
const (
	One = 1
	Two = 2
)

const (
	Three = 3 // of course
	Four  = 4
)

type (
	Grouped int
)
`, "q/q.go": "// Package q speaks.\npackage q\n", "q/util/u.go": "// Package util does things.\npackage util\n"})
	total, missing := tr.documentation()
	if total != 9 {
		t.Errorf("counted %d exported names, want 9", total)
	}
	compare(t, "missing", []string{"p/a.go:9: Undone", "p/a.go:11: Bare", "p/a.go:25: Four", "p/a.go:29: Grouped"}, missing)
	compare(t, "silent", []string{"p: no package comment"}, tr.silent())
	compare(t, "vague", []string{`q/util: "util" names nothing`}, tr.vague())
}

func TestDependenciesAreCompared(t *testing.T) {
	t.Parallel()
	const goMod = "module countersign\n\nrequire (\n\tgorm.io/gorm v1.31.2\n\tgithub.com/a/b/v2 v2.0.0\n)\n\nrequire (\n\tgithub.com/c/d v1.0.0 // indirect\n)\n"
	table := func(names ...string) string {
		text := "| module | why |\n|---|---|\n"
		for _, n := range names {
			text += "| `" + n + "` | needed |\n"
		}
		return text
	}
	cases := []struct {
		name     string
		document string
		want     []string
	}{
		{"equal", table("gorm.io/gorm", "github.com/a/b/v2"), nil},
		{"unexplained", table("gorm.io/gorm"), []string{"go.mod requires github.com/a/b/v2"}},
		{"left over", table("gorm.io/gorm", "github.com/a/b/v2", "github.com/x/y"), []string{"docs/dependencies.md explains github.com/x/y, which go.mod"}},
		{"indirect", table("gorm.io/gorm", "github.com/a/b/v2", "github.com/c/d"), []string{"docs/dependencies.md explains github.com/c/d, which nothing"}},
	}
	for _, c := range cases {
		compare(t, c.name, c.want, unexplained(goMod, c.document))
	}
	untidied := strings.ReplaceAll(goMod, "1.31.2", "1.31.2 // indirect")
	untidied = strings.ReplaceAll(untidied, "v2.0.0", "v2.0.0 // indirect")
	compare(t, "nothing tidied yet", nil, unexplained(untidied, table("gorm.io/gorm")))
	compare(t, "empty", []string{"go.mod requires gorm", "go.mod requires github", "nothing to compare"}, unexplained(goMod, ""))
}
