package sqldb

import (
	"context"
	"slices"
	"strings"

	"countersign/tools"
)

// Bounds of a description.
const (
	describedTables = 60
	sampledTables   = 20
	sampleRows      = 20
	sampleValues    = 3
)

// schemaTool is get_schema.
type schemaTool struct{ toolSet }

func newSchemaTool(all []*database, limits Limits) schemaTool {
	return schemaTool{toolSet{all, limits}}
}

// Spec describes get_schema.
func (t schemaTool) Spec() tools.Spec {
	return t.spec(tools.Spec{
		Name:        "get_schema",
		Description: "List the tables of a database with their columns, types, keys and comments. Databases: " + t.dialects() + ".",
		Risk:        tools.Low, Parallel: true,
	}, false)
}

// Call reads the schema and, of databases that are not private, a few values of each column.
func (t schemaTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	d, _, err := t.choose(c.Args)
	if err != nil {
		return tools.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	all, err := d.engine.tables(limited)
	if err != nil {
		return tools.Result{}, d.failure(ctx, err, statement{})
	}
	if !d.Private {
		d.sample(limited, all[:min(len(all), sampledTables)])
	}
	return tools.Result{
		Text: d.describe(all), Summary: grouped(len(all)) + " tables of " + d.Name, Sources: []string{"schema of " + d.Name},
	}, nil
}

// Cautions says of which databases a role is used to which nothing is closed, so that
// only this program's own checks stand between a query and everything there.
func (t schemaTool) Cautions(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	var out []string
	for _, d := range t.databases {
		e, ok := d.engine.(postgresEngine) // a file has no roles
		if !ok {
			continue
		}
		if role, err := e.superuser(ctx); err == nil && role != "" {
			out = append(out, "the database "+d.Name+" is asked as "+role+", a superuser, to whom nothing in it is closed")
		}
	}
	return out
}

// sample adds a few values to each column. What cannot be read stays without.
func (d *database) sample(ctx context.Context, all []table) {
	for _, t := range all {
		if t.kind != "table" {
			continue // a view may compute for long, a foreign table ask another server
		}
		sql := "SELECT * FROM " + t.quoted() + " LIMIT " + grouped(sampleRows)
		s, err := parseOne(d.dialect, sql)
		if err != nil {
			continue
		}
		set, err := d.engine.read(ctx, s)
		if err != nil {
			continue
		}
		for i, name := range set.columns {
			if j := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name }); j >= 0 {
				t.columns[j].samples = distinct(set.rows, i)
			}
		}
	}
}

func distinct(rows [][]cell, i int) []string {
	var values []string
	for _, row := range rows {
		value := shown(row[i], sampleRunes)
		if !row[i].null && len(values) < sampleValues && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// quoted is the table's name as SQL of both kinds takes it.
func (t table) quoted() string {
	name := quoteName(t.name)
	if t.schema != "" {
		name = quoteName(t.schema) + "." + name
	}
	return name
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// describe writes the schema as text.
func (d *database) describe(all []table) string {
	var b strings.Builder
	b.WriteString("Database " + d.Name + " (" + string(d.dialect) + ")")
	for _, t := range all[:min(len(all), describedTables)] {
		b.WriteString("\n\n" + t.headline())
		for _, c := range t.columns {
			b.WriteString("\n  " + c.line())
		}
	}
	if len(all) > describedTables {
		b.WriteString("\n\nand " + grouped(len(all)-describedTables) + " more tables:")
		for _, t := range all[describedTables:] {
			b.WriteString(" " + t.fullName())
		}
	}
	if len(all) == 0 {
		b.WriteString("\n\nno tables")
	}
	return b.String()
}

func (t table) headline() string {
	line := t.fullName()
	if t.kind != "table" {
		line += " (" + t.kind + ")"
	}
	if t.comment != "" {
		line += " -- " + cut(t.comment, shownRunes)
	}
	return line
}

func (c column) line() string {
	parts := []string{c.name, c.typ}
	if c.key {
		parts = append(parts, "primary key")
	} else if c.notNull {
		parts = append(parts, "not null")
	}
	if c.references != "" {
		parts = append(parts, "references "+c.references)
	}
	if c.comment != "" {
		parts = append(parts, "-- "+cut(c.comment, shownRunes))
	}
	if len(c.samples) > 0 {
		parts = append(parts, "e.g. "+strings.Join(c.samples, ", "))
	}
	return strings.Join(parts, " ")
}
