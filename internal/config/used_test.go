package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestEverySettingIsUsed finds settings that are read from the file and then by
// nobody. It looks for the fields' names in the packages that import this one,
// so it cannot prove that a setting has its effect; the tests of the effect do.
// A setting without an effect belongs into unavailable.go; one that allows a
// single word has none to choose.
func TestEverySettingIsUsed(t *testing.T) {
	t.Parallel()
	used := namesUsed(t, "../..")
	for _, s := range settings(reflect.TypeFor[Config](), "") {
		if !used[s.field] && !s.fixed && !isUnavailable(s.key) {
			t.Errorf("%s (field %s) is used nowhere; a setting without effect must be refused", s.key, s.field)
		}
	}
}

// setting is a key with the Go field that holds it; fixed if one word alone is allowed.
type setting struct {
	key, field string
	fixed      bool
}

func settings(t reflect.Type, prefix string) []setting {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == secretType {
		return nil
	}
	var out []setting
	for _, f := range fieldsOf(t) {
		key := joinKey(prefix, f.name)
		out = append(out, setting{key, t.FieldByIndex(f.index).Name, len(f.enum) == 1})
		out = append(out, settings(f.typ, key)...)
	}
	return out
}

func isUnavailable(key string) bool {
	for k := key; k != ""; k = parentKey(k) {
		if notYet(k) != "" {
			return true
		}
	}
	return false
}

// namesUsed collects the names selected in packages that import this one.
func namesUsed(t *testing.T, root string) map[string]bool {
	t.Helper()
	selected, imports := map[string][]string{}, map[string]bool{} // by folder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		folder := filepath.Dir(path)
		for _, i := range file.Imports {
			imports[folder] = imports[folder] || i.Path.Value == `"countersign/internal/config"`
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				selected[folder] = append(selected[folder], s.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for folder := range imports {
		for _, name := range selected[folder] {
			used[name] = used[name] || imports[folder]
		}
	}
	return used
}
