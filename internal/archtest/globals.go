package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// inits lists init functions, in tests too: what must happen is called by name.
func (t *tree) inits() []string {
	var out []string
	for _, p := range t.sorted() {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					out = append(out, t.at(fn)+": func init; wire it where it is used")
				}
			}
		}
	}
	return out
}

// globals lists package variables that are neither errors, tables nor embedded
// files, and places that change one.
func (t *tree) globals() []string {
	var out []string
	for _, p := range t.sorted() {
		names := map[string]bool{}
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
					out = append(out, t.badVars(vars, names)...)
				}
			}
		}
		for _, f := range p.code() {
			out = append(out, t.changes(f, names)...)
		}
	}
	return out
}

// badVars lists the variables of a declaration that hold state, and notes all names.
func (t *tree) badVars(d *ast.GenDecl, names map[string]bool) []string {
	var out []string
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range spec.Names {
			if name.Name == "_" || embedded(d, spec) {
				continue
			}
			names[name.Name] = true
			if i >= len(spec.Values) || !fixed(spec.Values[i]) {
				out = append(out, fmt.Sprintf("%s: package variable %s; only errors, tables and embedded files may be one", t.at(name), name.Name))
			}
		}
	}
	return out
}

// embedded reports whether a variable is filled by go:embed.
func embedded(d *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// fixed reports whether an expression makes a value that serves as a table or an error.
func fixed(e ast.Expr) bool {
	switch v := e.(type) {
	case *ast.CompositeLit, *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return fixed(v.X)
	case *ast.UnaryExpr:
		_, literal := v.X.(*ast.CompositeLit)
		return v.Op == token.AND && literal || v.Op == token.SUB
	case *ast.BinaryExpr:
		return fixed(v.X) && fixed(v.Y)
	case *ast.CallExpr:
		return makesValue(v)
	}
	return false
}

// makesValue reports whether a call is one of valueMakers or of a must… function,
// turns a literal into bytes, or gives literals to a function of its own package,
// which makes a table of them.
func makesValue(call *ast.CallExpr) bool {
	name := calleeName(call.Fun)
	if slices.Contains(valueMakers, name) {
		return true
	}
	if _, bytes := call.Fun.(*ast.ArrayType); bytes {
		return len(call.Args) == 1 && fixed(call.Args[0])
	}
	last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	return strings.HasPrefix(last, "must") || buildsTable(name, call.Args)
}

// buildsTable reports whether an unexported function of the package itself is
// called with nothing but literals.
func buildsTable(name string, args []ast.Expr) bool {
	if strings.Contains(name, ".") || ast.IsExported(name) || name == "make" || name == "new" || len(args) == 0 {
		return false
	}
	return !slices.ContainsFunc(args, func(e ast.Expr) bool { return !fixed(e) })
}

// calleeName gives pkg.Name or Name of what is called, type arguments left out.
func calleeName(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.Ident:
		return v.Name
	case *ast.SelectorExpr:
		return calleeName(v.X) + "." + v.Sel.Name
	case *ast.IndexExpr:
		return calleeName(v.X)
	case *ast.IndexListExpr:
		return calleeName(v.X)
	}
	return ""
}

// changes lists assignments to package variables, whole or in part.
func (t *tree) changes(f *file, names map[string]bool) []string {
	var out []string
	note := func(e ast.Expr) {
		if id := root(e); id != nil && names[id.Name] && atPackageLevel(id, f) {
			out = append(out, fmt.Sprintf("%s: changes the package variable %s; tables stay as they are", t.at(e), id.Name))
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				for _, left := range s.Lhs {
					note(left)
				}
			}
		case *ast.IncDecStmt:
			note(s.X)
		}
		return true
	})
	return out
}

// root gives the variable at the bottom of x, x.f, x[i] and *x.
func root(e ast.Expr) *ast.Ident {
	for {
		switch v := e.(type) {
		case *ast.Ident:
			return v
		case *ast.SelectorExpr:
			e = v.X
		case *ast.IndexExpr:
			e = v.X
		case *ast.StarExpr:
			e = v.X
		case *ast.ParenExpr:
			e = v.X
		default:
			return nil
		}
	}
}

// atPackageLevel reports whether a name is not a local one of the same spelling.
func atPackageLevel(id *ast.Ident, f *file) bool {
	if id.Obj == nil {
		return true // declared in another file of the package
	}
	return f.syntax.Scope.Lookup(id.Name) == id.Obj
}
