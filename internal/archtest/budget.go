package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// function is a function's size.
type function struct {
	name  string
	at    string
	lines int
}

// functions lists the functions and methods outside tests.
func (t *tree) functions() []function {
	var out []function
	for _, p := range t.sorted() {
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
					out = append(out, function{name: fn.Name.Name, at: t.at(fn), lines: lines})
				}
			}
		}
	}
	return out
}

// long lists functions and files above the budget.
func (t *tree) long() []string {
	var out []string
	for _, fn := range t.functions() {
		if fn.lines > maxFunctionLines {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, %d are allowed; give its parts names", fn.at, fn.name, fn.lines, maxFunctionLines))
		}
	}
	for _, p := range t.sorted() {
		for _, f := range p.code() {
			if f.lines > maxFileLines {
				out = append(out, fmt.Sprintf("%s: %d lines, %d are allowed; split it by subject", f.path, f.lines, maxFileLines))
			}
		}
	}
	return out
}

// spread lists where the code as a whole is above the budget.
func (t *tree) spread() []string {
	var functions, files []int
	for _, fn := range t.functions() {
		functions = append(functions, fn.lines)
	}
	for _, p := range t.sorted() {
		for _, f := range p.code() {
			files = append(files, f.lines)
		}
	}
	var out []string
	check := func(what string, sizes []int, share float64, limit int) {
		if got := quantile(sizes, share); got > limit {
			out = append(out, fmt.Sprintf("%s is %d lines, %d are allowed", what, got, limit))
		}
	}
	check("the median function", functions, 0.5, maxFunctionMedian)
	check("the 90th percentile of functions", functions, 0.9, maxFunctionP90)
	check("the 90th percentile of files", files, 0.9, maxFileP90)
	return out
}

// quantile gives the size that the share of all sizes does not exceed; 0 of none.
func quantile(sizes []int, share float64) int {
	if len(sizes) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sizes))
	return sorted[int(share*float64(len(sorted)-1))]
}

// wide lists functions with too many parameters and interfaces with too many methods.
func (t *tree) wide() []string {
	var out []string
	for _, p := range t.sorted() {
		for _, f := range p.code() {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				switch d := n.(type) {
				case *ast.FuncDecl:
					if k := d.Type.Params.NumFields(); k > maxParameters {
						out = append(out, fmt.Sprintf("%s: %s takes %d parameters, %d are allowed; make a Params struct", t.at(d), d.Name.Name, k, maxParameters))
					}
				case *ast.TypeSpec:
					if k := methods(d); k > maxInterfaceMethods {
						out = append(out, fmt.Sprintf("%s: interface %s asks for %d methods, %d are allowed; declare what the consumer needs", t.at(d), d.Name.Name, k, maxInterfaceMethods))
					}
				}
				return true
			})
		}
	}
	return out
}

// methods counts the methods that an interface declares itself; 0 for other types.
func methods(spec *ast.TypeSpec) int {
	i, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return 0
	}
	count := 0
	for _, m := range i.Methods.List {
		if _, method := m.Type.(*ast.FuncType); method {
			count += len(m.Names)
		}
	}
	return count
}

// silent lists packages without a package comment.
func (t *tree) silent() []string {
	var out []string
	for _, p := range t.sorted() {
		code := p.code()
		speaks := slices.ContainsFunc(code, func(f *file) bool {
			return f.syntax.Doc != nil && strings.TrimSpace(f.syntax.Doc.Text()) != ""
		})
		if len(code) > 0 && !speaks {
			out = append(out, p.path+": no package comment; say what it provides and what it does not know")
		}
	}
	return out
}
