package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"countersign/tools"
)

// executeTool is execute_sql.
type executeTool struct{ toolSet }

func newExecuteTool(writable []*database, limits Limits) executeTool {
	return executeTool{toolSet{writable, limits}}
}

// Spec describes execute_sql.
func (t executeTool) Spec() tools.Spec {
	return t.spec(tools.Spec{
		Name: "execute_sql",
		Description: "Change data with one SQL statement (INSERT, UPDATE, DELETE; CREATE, ALTER or DROP of tables, indexes, views). " +
			"A person sees the affected rows and approves. Databases: " + t.dialects() + ".",
		Risk: t.risk(), Effects: true,
	}, true)
}

// risk is medium only where every database says so: the tool is one for all.
func (t executeTool) risk() tools.Risk {
	if slices.ContainsFunc(t.databases, func(d *database) bool { return d.Risk != tools.Medium }) {
		return tools.High
	}
	return tools.Medium
}

// Check refuses what is not one changing statement.
func (t executeTool) Check(_ context.Context, raw json.RawMessage) error {
	_, _, err := t.statement(raw, checkWrite)
	return err
}

// Preview tries the change, rolls it back and shows the rows before and after. An
// error of the statement itself is a Failure: it would fail when it runs, too. On
// Postgres a key that the table generates is used up by the trial of an insert.
func (t executeTool) Preview(ctx context.Context, c tools.Call) (tools.Preview, error) {
	d, s, err := t.statement(c.Args, checkWrite)
	if err != nil {
		return tools.Preview{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	ch, why := planChange(s)
	if why != "" {
		return d.unseen(limited, s, why)
	}
	e, why, err := d.engine.try(limited, ch)
	switch {
	case err != nil:
		return tools.Preview{}, d.failure(ctx, err, s)
	case why != "":
		return d.unseen(limited, s, why)
	case !e.complete():
		return d.unseen(limited, s, untried("It would change "+plural(e.count)+", more than can be shown and compared (at most "+grouped(t.limits.Changes)+" rows and 8 MiB)."))
	}
	detail := e.draw()
	if ch.dependsOnClock() {
		detail += clockNote
	}
	return tools.Preview{Summary: e.summary(), Detail: detail, Material: e.material(s.text)}, nil
}

// unseen is the preview of a statement that is not tried beforehand: the statement,
// and how the database would go about it. What is refused is no card.
func (d *database) unseen(ctx context.Context, s statement, why untried) (tools.Preview, error) {
	p := tools.Preview{
		Summary: "effect not shown", Detail: s.text, Untried: string(why),
		Material: map[string]string{"statement": effect{}.material(s.text)["statement"]},
	}
	plan, err := d.engine.plan(ctx, s)
	if refusal, ok := errors.AsType[*tools.Failure](err); ok {
		return tools.Preview{}, refusal
	}
	if err == nil && plan != "" {
		p.Detail += "\n\nPlan:\n" + cut(plan, planRunes)
	}
	return p, nil
}

// Call runs the statement in one transaction. Where an effect was shown, it commits
// only the same effect. Any *tools.Failure means that nothing was committed; another
// error means that the answer to the commit was lost.
func (t executeTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	d, s, err := t.statement(c.Args, checkWrite)
	if err != nil {
		return tools.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	a, err := d.application(s, c.Preview)
	if err != nil {
		return tools.Result{}, err
	}
	done, err := d.engine.apply(limited, a)
	if errors.Is(err, errUnknown) {
		return tools.Result{}, errUnknown
	}
	if err != nil {
		return tools.Result{}, d.failure(ctx, err, s)
	}
	return d.report(a, done), nil
}

// application joins the statement with what was shown of it.
func (d *database) application(s statement, shown *tools.Preview) (application, error) {
	a := application{statement: s}
	if shown == nil || shown.Untried != "" {
		return a, nil
	}
	ch, why := planChange(s)
	if why != "" {
		return a, changed("The effect could be shown before and cannot now. " + string(why))
	}
	a.change, a.agrees = &ch, agreement(s.text, *shown)
	return a, nil
}

func (d *database) report(a application, done applied) tools.Result {
	line := "ran " + a.verb() + " in " + d.Name
	if a.verb() == "insert" || a.verb() == "update" || a.verb() == "delete" {
		line = pastTense(a.verb()) + " " + plural(done.rows) + " in " + d.Name
	}
	if ch, why := planChange(a.statement); why == "" {
		line += "." + ch.table
	}
	return tools.Result{Text: "Done: " + line + ".", Summary: line, Effect: line}
}
