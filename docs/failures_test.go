package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	declared  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	mentioned = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w+)")
)

// TestFailuresNameTestsThatExist reads the tables of failures/ and of security.md.
// Each row ends with tests, and each of them is in the tree.
func TestFailuresNameTestsThatExist(t *testing.T) {
	t.Parallel()
	known := testsOfTheTree(t)
	pages, err := filepath.Glob("failures/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, page := range append(pages, "security.md") {
		for _, row := range tableRows(t, page) {
			names := mentioned.FindAllStringSubmatch(row[len(row)-1], -1)
			if len(names) == 0 && page != "security.md" {
				t.Errorf("%s: row %s names no test", page, row[0])
			}
			for _, name := range names {
				if !known[name[1]] {
					t.Errorf("%s: row %s names %s, which does not exist", page, row[0], name[1])
				}
			}
		}
	}
}

// tableRows are the cells of the rows of a page's tables, without their heads.
func tableRows(t *testing.T, page string) [][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ---")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || head {
			continue
		}
		rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return rows
}

func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllSubmatch(text, -1) {
			known[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
