package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/apptest"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	if out := bare(t, "limits: {max_steps: 3}\n", nil).must("config", "check"); out != "ok\n" {
		t.Error(out)
	}
	d := bare(t, "limits:\n  max_step: 3\nroles: {boss: {users: [anna]}}\n", nil)
	out := d.fails("The configuration has 2 problems.", "config", "check")
	for _, want := range []string{"line 2, column 3: limits.max_step: unknown setting", "line 3", "roles.boss.users"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	one := bare(t, "limits:\n  max_step: 3\n", nil)
	for _, command := range [][]string{{"serve"}, {"manifest"}, {"runs", "list"}, {"audit", "verify"}} {
		one.fails("line 2, column 3: limits.max_step: unknown setting; did you mean max_steps?", command...)
	}
}

// What is wrong with a rule shows only with the tools that there are; it is placed in the
// file all the same, and all of it is told at once.
func TestConfigPlacesRules(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{Model: attentive()}))
	d.write(d.text + `rules:
  - {tool: delete_document, quorum: 1}
  - tool: delete_document
    when: "args.id == 'x' &&"
    quorum: 1
  - when: |
      tool == 'a' ||
      owner == 'b'
    quorum: 1
`)
	first := strings.Count(strings.Split(d.text, "rules:")[0], "\n") + 1 // the line of "rules:"
	out := d.fails("The configuration has 2 problems.", "config", "check")
	wrong := []string{
		fmt.Sprintf("countersign.yaml line %d, column 11: rules[1].when: Syntax error: ", first+3), "(character 18 of the condition)",
		fmt.Sprintf("countersign.yaml line %d, column 11: rules[2].when: undeclared reference to 'owner' (line 2 of the condition, character 1)", first+5),
	}
	found := d.run("doctor").out
	for _, want := range wrong {
		if !strings.Contains(out, want) || !strings.Contains(found, want) {
			t.Errorf("%q is missing in\n%s\nor\n%s", want, out, found)
		}
	}
	d.write(strings.Split(d.text, "rules:")[0] + "rules: [{tool: delete_docment, quorum: 1}]\n")
	if out := d.fails("1 problem", "config", "check"); !strings.Contains(out, fmt.Sprintf("line %d, column 9: rules[0]: there is no tool \"delete_docment\", did you mean delete_document?", first)) {
		t.Error(out)
	}
}

func TestConfigWarns(t *testing.T) {
	t.Parallel()
	d := bare(t, "tools: {docs: {path: ./docs}}\n", nil)
	if out := d.must("config", "check"); !strings.Contains(out, "warning: ") || !strings.Contains(out, "delete_document") || !strings.HasSuffix(out, "ok\n") {
		t.Error(out)
	}
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Title      string         `json:"title"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(bare(t, "", nil).must("config", "schema")), &schema); err != nil || schema.Title != "countersign.yaml" || schema.Properties["approvals"] == nil {
		t.Errorf("%+v, %v", schema, err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{}))
	var all strings.Builder
	for _, call := range []string{
		`{"tool": "delete_document", "args": {"id": "doc_42"}, "user": "U0ANA", "channel": "C0OPS"}`,
		`{"tool": "get_order", "args": {"order_id": 7}, "user": "U0MGR", "channel": "C0OPS"}`,
		`{"tool": "send_topup_reminder", "args": {"customer_id": "3", "message": "please"}, "roles": ["finance"]}`,
	} {
		all.WriteString(d.must("config", "check", "--explain", call) + "\n")
	}
	golden(t, "explain", all.String())
	d.fails(`Did you mean delete_document`, "config", "check", "--explain", `{"tool": "delete_documents"}`)
	d.fails("missing: id; /name: there is no property of this name", "config", "check", "--explain", `{"tool": "delete_document", "args": {"name": "x"}}`)
	d.fails(`No role is named "boss"`, "config", "check", "--explain", `{"tool": "get_order", "args": {"order_id": 7}, "roles": ["boss"]}`)
	d.fails("--explain takes", "config", "check", "--explain", `delete doc_42`)
	d.fails("--explain takes", "config", "check", "--explain", `{"tools": "x"}`)
}

func TestExplainWithoutApprovers(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.New(t, apptest.Options{Approvals: "approvals: {ttl: 1h}"}))
	out := d.must("config", "check", "--explain", `{"tool": "delete_document", "args": {"id": "doc_42"}}`)
	if !strings.Contains(out, "deny") || !strings.Contains(out, "approvals.approvers") {
		t.Error(out)
	}
}
