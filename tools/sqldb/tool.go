package sqldb

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"countersign/tools"
)

// toolSet chooses the database of a call.
type toolSet struct {
	databases []*database
	limits    Limits
}

type arguments struct {
	Database string `json:"database"`
	SQL      string `json:"sql"`
}

// choose reads the arguments and finds the database.
func (t toolSet) choose(raw json.RawMessage) (*database, arguments, error) {
	var a arguments
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, a, &tools.Failure{Code: "invalid_arguments", Message: "The arguments are not a JSON object with database and sql."}
	}
	if a.Database == "" && len(t.databases) == 1 {
		return t.databases[0], a, nil
	}
	i := slices.IndexFunc(t.databases, func(d *database) bool { return d.Name == a.Database })
	if i < 0 {
		return nil, a, &tools.Failure{Code: "not_found", Message: "There is no database " + a.Database + ". Databases: " + strings.Join(t.names(), ", ") + ".", Pointer: "/database"}
	}
	return t.databases[i], a, nil
}

func (t toolSet) names() []string {
	names := make([]string, len(t.databases))
	for i, d := range t.databases {
		names[i] = d.Name
	}
	return names
}

// statement reads the arguments and takes the statement apart; check says whether the
// tool may pass it to the database.
func (t toolSet) statement(raw json.RawMessage, check func(statement) error) (*database, statement, error) {
	d, a, err := t.choose(raw)
	if err != nil {
		return nil, statement{}, err
	}
	s, err := parseOne(d.dialect, a.SQL)
	if err != nil {
		return d, s, err
	}
	return d, s, check(s)
}

// spec fills in what the three tools share.
func (t toolSet) spec(s tools.Spec, withSQL bool) tools.Spec {
	s.Parameters = t.parameters(withSQL)
	s.Private = slices.ContainsFunc(t.databases, func(d *database) bool { return d.Private })
	s.Egress = slices.ContainsFunc(t.databases, func(d *database) bool { return d.Egress })
	s.Roles = t.databases[0].Roles
	s.Channels = t.databases[0].Channels
	// Enough for the schema to be read after an error, too.
	s.Timeout = 2 * t.limits.Timeout
	s.Target = t.target()
	return s
}

// target names the databases by where they are, not by what they are called here.
func (t toolSet) target() string {
	places := make([]string, len(t.databases))
	for i, d := range t.databases {
		places[i] = d.Name + " " + d.engine.place()
	}
	return strings.Join(places, "\n")
}

// parameters is the JSON Schema; the database is optional where there is only one.
func (t toolSet) parameters(withSQL bool) json.RawMessage {
	type schema struct {
		Type                 string            `json:"type"`
		Description          string            `json:"description,omitempty"`
		Enum                 []string          `json:"enum,omitempty"`
		MinLength            int               `json:"minLength,omitempty"`
		MaxLength            int               `json:"maxLength,omitempty"`
		Properties           map[string]schema `json:"properties,omitempty"`
		Required             []string          `json:"required,omitempty"`
		AdditionalProperties *bool             `json:"additionalProperties,omitempty"`
	}
	s := schema{Type: "object", AdditionalProperties: new(bool), Properties: map[string]schema{
		"database": {Type: "string", Description: "Name of the database.", Enum: t.names()},
	}}
	if len(t.databases) > 1 {
		s.Required = append(s.Required, "database")
	}
	if withSQL {
		s.Properties["sql"] = schema{Type: "string", Description: "One SQL statement, without parameters.", MinLength: 1, MaxLength: maxStatement}
		s.Required = append(s.Required, "sql")
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a fixed structure of strings
	}
	return raw
}

// maxStatement is in characters; what a person has to read should be far shorter.
const maxStatement = 20000

// dialects says which kinds of SQL the tools speak, for their descriptions.
func (t toolSet) dialects() string {
	var parts []string
	for _, d := range t.databases {
		kind := "SQLite"
		if d.dialect == postgresDialect {
			kind = "PostgreSQL"
		}
		parts = append(parts, d.Name+" ("+kind+")")
	}
	return strings.Join(parts, ", ")
}

// queryTool is query_sql.
type queryTool struct{ toolSet }

func newQueryTool(all []*database, limits Limits) queryTool { return queryTool{toolSet{all, limits}} }

// Spec describes query_sql.
func (t queryTool) Spec() tools.Spec {
	return t.spec(tools.Spec{
		Name: "query_sql",
		Description: "Run one reading SQL statement (SELECT, WITH, VALUES, EXPLAIN) and get its rows. Databases: " + t.dialects() +
			". At most " + grouped(t.limits.Rows) + " rows come back; aggregate in SQL. Use get_schema first when unsure of names.",
		Risk: tools.Low, Parallel: true,
	}, true)
}

// Check refuses what is not one reading statement.
func (t queryTool) Check(_ context.Context, raw json.RawMessage) error {
	_, _, err := t.statement(raw, checkRead)
	return err
}

// Call runs the query.
func (t queryTool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	d, s, err := t.statement(c.Args, checkRead)
	if err != nil {
		return tools.Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.limits.Timeout)
	defer cancel()
	set, err := d.engine.read(limited, s)
	if err != nil {
		return tools.Result{}, d.failure(ctx, err, s)
	}
	return tools.Result{
		Text: set.asText(), Summary: set.count(), Table: set.asTable(), Sources: []string{"database " + d.Name},
	}, nil
}
