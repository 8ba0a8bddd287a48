package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/config"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	const doc = "tools: {docs: {path: d}}\n"
	cases := []struct {
		name, text string
		want       []string // begins and ends of each warning, joined by …
	}{
		{"HIGH tool without approvers", doc, []string{"approvals.approvers: nobody may countersign, so these are refused: delete_document"}},
		{"nothing HIGH", "tools: {docs: {path: d, risk: medium}, sql: [{name: a, url: sqlite:a.db}]}", nil},
		{"one approver", doc + "roles: {m: {users: [U1]}}\napprovals: {approvers: [m]}", []string{"U1 is the only person who may countersign"}},
		{"one approver who may approve their own", doc + "roles: {m: {users: [U1]}}\napprovals: {approvers: [m], self_approval: true}", nil},
		{"group of approvers", doc + "roles: {m: {users: [U1], usergroups: [S1]}}\napprovals: {approvers: [m]}", nil},
		{"slow model", "model: {timeout: 2m}", []string{"model.timeout: one reply may take longer"}},
		{"a window that is too small", "model: {window: 2048}", []string{"model.window: a window of 2048 tokens hardly holds the instructions"}},
		{"a window that is not", "model: {window: 8192}", nil},
		{"slow tool", "limits: {tool_timeout: 2m}", []string{"limits.tool_timeout: one tool call may take longer"}},
		{"variable where none is filled", "model: {name: '${NAME}'}", []string{"line 1, column 15: model.name: ${NAME} is not filled in here"}},
		{"credential in an address", "tools: {http: [{name: a, description: d, url: 'https://a.example/bot${HOOK_TOKEN}/send'}]}", []string{"tools.http[0].url: ${HOOK_TOKEN} becomes a part of the address"}},
		{"credential in a query", "tools: {http: [{name: a, description: d, url: 'https://a.example/${TENANT}/send?api_key=${HOOK_TOKEN}'}]}", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := mustParse(t, c.text, map[string]string{"HOOK_TOKEN": "12345:abcdef", "TENANT": "acme"}).Warnings()
			if len(got) != len(c.want) {
				t.Fatalf("warnings = %v, want %v", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i].String(), c.want[i]) {
					t.Errorf("warning = %s, want … %s …", got[i], c.want[i])
				}
			}
		})
	}
}

func TestHighTools(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Tools = config.Tools{
		Docs:    &config.Docs{},
		SQL:     []config.SQL{{Name: "shop", Write: true}, {Name: "stats"}},
		HTTP:    []config.HTTPTool{{Name: "read", Method: "GET"}, {Name: "refund", Method: "POST"}, {Name: "note", Method: "POST", Access: config.Access{Risk: "low"}}},
		Sandbox: &config.Sandbox{},
		MCP:     []config.MCP{{Name: "github"}},
	}
	want := []string{"delete_document", "execute_sql on shop", "refund", "run_command", "the tools of github"}
	if diff := cmp.Diff(want, c.HighTools()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
