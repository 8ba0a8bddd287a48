// Package archtest holds the code to the house's rules: who may import whom,
// what a package may keep, how large a function may grow, what must be
// documented. The rules are data (rules.go); the tests of this package apply
// them to the whole module, and to small wrong examples that they must find.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// module is our own module path, as go.mod names it.
const module = "countersign"

// file is one parsed Go file.
type file struct {
	path      string // slash-separated, from the module's root
	test      bool
	generated bool
	lines     int
	syntax    *ast.File
	imports   []string // ours without the module's name: "approvals/policy"; others in full
}

// pkg is one folder of Go files; its path is "" at the root.
type pkg struct {
	path  string
	files []*file
}

// tree is the parsed module.
type tree struct {
	fset     *token.FileSet
	packages map[string]*pkg
}

// load parses every Go file below root. Folders that the go tool skips, nested
// modules and installed Node packages are left out.
func load(root fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), packages: map[string]*pkg{}}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, p)
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		return t.add(root, p)
	})
	return t, err
}

func skip(root fs.FS, folder string) error {
	if folder == "." {
		return nil
	}
	base := path.Base(folder)
	if base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(folder, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *tree) add(root fs.FS, p string) error {
	source, err := fs.ReadFile(root, p)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.fset, p, source, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	f := &file{
		path: p, syntax: syntax, test: strings.HasSuffix(p, "_test.go"),
		generated: ast.IsGenerated(syntax), lines: strings.Count(string(source), "\n"),
	}
	for _, spec := range syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		f.imports = append(f.imports, ours(name))
	}
	folder := path.Dir(p)
	if t.packages[folder] == nil {
		t.packages[folder] = &pkg{path: folder}
	}
	t.packages[folder].files = append(t.packages[folder].files, f)
	return nil
}

// ours cuts our module's name off an import path; others stay whole.
func ours(importPath string) string {
	return strings.TrimPrefix(importPath, module+"/")
}

// isOurs reports whether an import path, as a file holds it, is a package of this module.
func (t *tree) isOurs(name string) bool { return t.packages[name] != nil }

// sorted lists the packages by path.
func (t *tree) sorted() []*pkg {
	out := make([]*pkg, 0, len(t.packages))
	for _, p := range t.packages {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	return out
}

// code lists the files that become part of the program, without tests and generated ones.
func (p *pkg) code() []*file {
	var out []*file
	for _, f := range p.files {
		if !f.test && !f.generated {
			out = append(out, f)
		}
	}
	return out
}

// at gives file:line of a node.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}
