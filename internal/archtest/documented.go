package archtest

import (
	"go/ast"
	"go/token"
)

// documentation counts exported names outside tests and lists those without a comment.
func (t *tree) documentation() (total int, missing []string) {
	for _, p := range t.sorted() {
		for _, f := range p.code() {
			for _, d := range f.syntax.Decls {
				n, bare := t.undocumented(d)
				total += n
				missing = append(missing, bare...)
			}
		}
	}
	return total, missing
}

func (t *tree) undocumented(d ast.Decl) (total int, missing []string) {
	switch v := d.(type) {
	case *ast.FuncDecl:
		if !v.Name.IsExported() || !exportedReceiver(v) {
			return 0, nil
		}
		if v.Doc == nil {
			missing = append(missing, t.at(v)+": "+v.Name.Name)
		}
		return 1, missing
	case *ast.GenDecl:
		for _, s := range v.Specs {
			n, bare := t.bareSpec(v, s)
			total += n
			missing = append(missing, bare...)
		}
	}
	return total, missing
}

// exportedReceiver reports whether a function is none or belongs to an exported type.
func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	id := root(fn.Recv.List[0].Type)
	return id == nil || id.IsExported()
}

// bareSpec counts the exported names of one type, constant or variable. The
// comment of its group counts for constants and variables.
func (t *tree) bareSpec(d *ast.GenDecl, s ast.Spec) (total int, missing []string) {
	var names []*ast.Ident
	var doc, line *ast.CommentGroup
	switch v := s.(type) {
	case *ast.TypeSpec:
		names, doc, line = []*ast.Ident{v.Name}, v.Doc, v.Comment
		if doc == nil && !d.Lparen.IsValid() {
			doc = d.Doc
		}
	case *ast.ValueSpec:
		names, doc, line = v.Names, v.Doc, v.Comment
		if doc == nil && (d.Tok == token.CONST || d.Tok == token.VAR) {
			doc = d.Doc
		}
	}
	for _, name := range names {
		if !name.IsExported() {
			continue
		}
		total++
		if doc == nil && line == nil {
			missing = append(missing, t.at(name)+": "+name.Name)
		}
	}
	return total, missing
}
