package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"countersign/tools"
)

// reading is what expressions read of the arguments.
type reading struct {
	names []string
	whole bool // something else than args.NAME: a computed name, all of them
	run   bool // what the run has read
}

func (r *reading) add(a *cel.Ast) {
	idents, selects := 0, 0
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			switch e.AsIdent() {
			case "args":
				idents++
			case "run":
				r.run = true
			}
		case ast.SelectKind:
			of := e.AsSelect().Operand()
			if of.Kind() == ast.IdentKind && of.AsIdent() == "args" {
				selects++
				r.names = append(r.names, e.AsSelect().FieldName())
			}
		}
	}))
	r.whole = r.whole || idents != selects
}

// Unsound says why the rules cannot be relied upon with these tools: a tool that
// does not exist, or a lowered risk that depends on what the model may leave out or
// write in another form. Loose names tools that may come later.
func (r *Rules) Unsound(registry *tools.Registry, loose func(tool string) bool) error {
	var wrong RuleErrors
	for i := range r.list {
		c := &r.list[i]
		if err := c.unsound(registry, loose); err != nil {
			wrong = append(wrong, RuleError{c.Name, err.Error()})
		}
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

func (c *compiled) unsound(registry *tools.Registry, loose func(string) bool) error {
	lowers := c.Risk == tools.Low || c.Risk == tools.Medium
	if c.Tool == "" {
		if lowers {
			return errors.New("a rule that lowers the risk must name its tool")
		}
		return nil
	}
	t, ok := registry.Get(c.Tool)
	switch {
	case !ok && loose != nil && loose(c.Tool):
		return nil
	case !ok:
		return fmt.Errorf("there is no tool %q%s", c.Tool, near(registry.Near(c.Tool)))
	case !lowers || rank(c.Risk) >= rank(t.Spec().Risk):
		return nil
	case c.AtMost == nil:
		return errors.New("a rule that lowers the risk needs at_most")
	case c.reads.whole:
		return errors.New("a rule that lowers the risk may read single arguments alone, as args.NAME")
	}
	return c.firm(t.Spec())
}

func near(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", did you mean " + list(names) + "?"
}

// scalars are the types that an argument of a lowering rule may have.
var scalars = []string{"string", "number", "integer", "boolean"}

// firm checks that what a lowering rule reads is always there, in one known form.
func (c *compiled) firm(spec tools.Spec) error {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required   []string         `json:"required"`
		Additional json.RawMessage  `json:"additionalProperties"`
		Pattern    map[string]any   `json:"patternProperties"`
		AllOf      []map[string]any `json:"allOf"`
		AnyOf      []map[string]any `json:"anyOf"`
		OneOf      []map[string]any `json:"oneOf"`
		Ref        string           `json:"$ref"`
	}
	if err := json.Unmarshal(spec.Parameters, &s); err != nil {
		return fmt.Errorf("the parameters of %s cannot be read: %w", spec.Name, err)
	}
	open := len(s.Additional) > 0 && string(s.Additional) != "false"
	if open || len(s.Pattern)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Ref != "" {
		return fmt.Errorf("a rule that lowers the risk needs a closed schema, and %s takes arguments that it does not declare", spec.Name)
	}
	for _, name := range c.reads.names {
		p, declared := s.Properties[name]
		var kind string
		switch {
		case !declared:
			return fmt.Errorf("%s has no argument %q", spec.Name, name)
		case !slices.Contains(s.Required, name):
			return fmt.Errorf("a rule that lowers the risk may read required arguments alone, and %s of %s may be left out", name, spec.Name)
		case json.Unmarshal(p.Type, &kind) != nil || !slices.Contains(scalars, kind):
			return fmt.Errorf("a rule that lowers the risk may read arguments of one simple type alone, and %s of %s is none", name, spec.Name)
		case c.AtMost.Sum == "args."+name && kind != "number" && kind != "integer":
			return fmt.Errorf("at_most.sum: %s of %s is no number", name, spec.Name)
		}
	}
	return nil
}
