package playbook

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stage is one conversation with the server, as an agent would have it.
type stage struct {
	t     *testing.T
	url   string
	tools []string
	all   []message
	log   strings.Builder
}

func serve(t *testing.T, o Options) string {
	t.Helper()
	s, err := New(Scenes(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv.URL
}

// everyTool are the tools that the scenes call.
var everyTool = []string{
	"query_sql", "get_schema", "execute_sql", "read_file", "calculate_stats", "delete_document",
	"send_topup_reminder", "get_order", "refund", "run_command", "ask_user",
}

func newStage(t *testing.T, url string) *stage {
	return &stage{t: t, url: url, tools: everyTool, all: []message{{Role: "system", Content: "You are a test."}}}
}

func (s *stage) says(role, text string) {
	s.all = append(s.all, message{Role: role, Content: textOf(text)})
	fmt.Fprintf(&s.log, "%s: %s\n", role, text)
}

func textOf(s string) text { return text(s) }

func (s *stage) body(extra map[string]any) []byte {
	body := map[string]any{"model": Model, "messages": s.all}
	var tools []map[string]any
	for _, name := range s.tools {
		params := map[string]any{"type": "object", "properties": map[string]any{"thought": map[string]any{"type": "string"}}}
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": params}})
	}
	if tools != nil {
		body["tools"] = tools
	}
	for k, v := range extra {
		body[k] = v
	}
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// turn asks for the next line and puts it into the conversation.
func (s *stage) turn() message {
	s.t.Helper()
	status, raw := post(s.t, s.url, s.body(nil), "")
	if status != http.StatusOK {
		s.t.Fatalf("status %d: %s", status, raw)
	}
	var c struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
		Usage usage `json:"usage"`
	}
	if err := json.Unmarshal(raw, &c); err != nil || len(c.Choices) != 1 {
		s.t.Fatalf("%v: %s", err, raw)
	}
	if c.Usage.Prompt <= 0 || c.Usage.Completion <= 0 || c.Usage.Total != c.Usage.Prompt+c.Usage.Completion {
		s.t.Errorf("usage %+v is not plausible", c.Usage)
	}
	m := c.Choices[0].Message
	s.all = append(s.all, m)
	for _, call := range m.ToolCalls {
		fmt.Fprintf(&s.log, "call: %s %s\n", call.Function.Name, call.Function.Arguments)
	}
	if m.Content != "" {
		fmt.Fprintf(&s.log, "assistant: %s\n", m.Content)
	}
	return m
}

// play feeds the observations to the calls, one each, until there is an answer.
func (s *stage) play(seen []string) message {
	s.t.Helper()
	for range 20 {
		m := s.turn()
		if len(m.ToolCalls) == 0 {
			if len(seen) > 0 {
				s.t.Errorf("answered with %d observations left", len(seen))
			}
			return m
		}
		for _, c := range m.ToolCalls {
			if len(seen) == 0 {
				s.t.Fatalf("a call too many:\n%s", s.log.String())
			}
			s.observe(c.ID, seen[0])
			seen = seen[1:]
		}
	}
	s.t.Fatalf("no answer:\n%s", s.log.String())
	return message{}
}

func (s *stage) observe(id, seen string) {
	s.all = append(s.all, message{Role: "tool", CallID: id, Content: textOf(seen)})
	fmt.Fprintf(&s.log, "seen: %s\n", strings.ReplaceAll(seen, "\n", "\n      "))
}

func post(t *testing.T, url string, body []byte, fault string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(FaultHeader, fault)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, raw
}

const (
	balanceLow  = "id | name | balance\n1 | 张三 | 42.5\n(1 row)"
	balanceHigh = "id | name | balance\n1 | 张三 | 420.5\n(1 row)"
	noRows      = "id | name | balance\n(0 rows)"
	reminded    = "HTTP 201\n{\n  \"reminder\": 1\n}"
	noFile      = `ERROR (not_found): no such file transaction.log; did you mean "transactions.log"?`
	logText     = "2026-01-05T09:00:00Z trade=1 amount=100\n2026-01-05T10:00:00Z trade=2 amount=200\n2026-01-05T11:00:00Z trade=3 amount=300"
	statistics  = "count: 3\nsum: 600\nmean: 200\nmedian: 200"
	deleted42   = "deleted document doc_42 (Leave policy), restorable. It is kept as .trash/1-doc_42.md."
	edited43    = `CHANGED: a person (<@U2>) edited the arguments before it ran. Their reason: wrong one You proposed {"id":"doc_42"}; what ran is {"id":"doc_43"}. Do not make the original call again. Result:` + "\ndeleted document doc_43 (Old notes), restorable. It is kept as .trash/1-doc_43.md."
	rejected    = "REJECTED: a person (<@U2>) refused this call; it was not run. Their reason: still needed This is final for this request. Do not ask for it again and do not try to reach the same end another way."
	rejectedBar = "REJECTED: a person (<@U2>) refused this call; it was not run. No reason was given. This is final for this request. Do not ask for it again and do not try to reach the same end another way."
	answered    = "A person (<@U2>) answered instead of letting this call run; it was not run. Their answer: ask legal first"
	expired     = "EXPIRED: nobody answered the request to countersign this call in time; it was not run. Nobody refused it. Tell the person that it lapsed unanswered; they can ask again."
	unknownDoc  = "ERROR (not_found): there is no document doc_42; did you mean doc_43?"
	stopped     = "The outcome of this call is not known. A person (<@U2>) stopped here. Do not call it again."
	noColumn    = "ERROR (invalid): no such column: week. Columns of orders: id, customer_id, amount, status, created_at"
	schema      = "orders\n  id INTEGER, key\n  amount NUMERIC\n  created_at TEXT"
	weeks       = "week | orders | total\n2026-01 | 2 | 300\n(1 row)"
	order9      = `HTTP 200` + "\n{\n  \"amount\": 1800,\n  \"id\": 9,\n  \"status\": \"paid\"\n}"
	sandboxed   = "exit status 0\nnc: can't connect to remote host (1.1.1.1): Network is unreachable\nnetwork exit: 1\nsh: can't create /etc/outside: Read-only file system\nwrite exit: 1"
	sandboxOpen = "exit status 0\nhello\nnetwork exit: 0\nwrite exit: 1"
)

func TestScenes(t *testing.T) {
	t.Parallel()
	url, titles := serve(t, Options{}), titlesOf(t)
	for _, c := range []struct {
		name, scene string
		seen        []string
	}{
		{"low", "01-balance", []string{balanceLow, reminded}},
		{"high", "01-balance", []string{balanceHigh}},
		{"nobody", "01-balance", []string{noRows}},
		{"sql-error", "01-balance", []string{"ERROR (invalid): no such table: customers"}},
		{"unsent", "01-balance", []string{balanceLow, "ERROR (http_404): not found"}},
		{"rejected", "01-balance", []string{balanceLow, rejected}},
		{"expired", "01-balance", []string{balanceLow, expired}},
		{"healed", "02-statistics", []string{noFile, logText, statistics}},
		{"no-amounts", "02-statistics", []string{noFile, "nothing here"}},
		{"still-missing", "02-statistics", []string{noFile, noFile}},
		{"approved", "03-delete", []string{deleted42}},
		{"edited", "03-delete", []string{edited43}},
		{"rejected", "03-delete", []string{rejected}},
		{"rejected-bare", "03-delete", []string{rejectedBar}},
		{"answered", "03-delete", []string{answered}},
		{"expired", "03-delete", []string{expired}},
		{"unknown", "03-delete", []string{unknownDoc}},
		{"stopped", "03-delete", []string{stopped}},
		{"healed", "06-week", []string{noColumn, schema, weeks}},
		{"undated", "06-week", []string{"ERROR (sql_error): no such column: week", "orders\n  id INTEGER"}},
		{"approved", "07-update", []string{"Done: updated 1 row in shop.orders."}},
		{"rejected", "07-update", []string{rejected}},
		{"changed", "07-update", []string{"ERROR (changed): 1 row when shown, 0 now; nothing was changed."}},
		{"approved", "09-refund", []string{order9, "HTTP 201\n{\n  \"refund\": 7\n}"}},
		{"too-much", "09-refund", []string{strings.ReplaceAll(order9, "1800", "800")}},
		{"refused", "09-refund", []string{order9, rejected}},
		{"refused-by-container", "10-sandbox", []string{sandboxed}},
		{"open", "10-sandbox", []string{sandboxOpen}},
		{"both", "11-two", []string{deleted42, rejected}},
		{"answered", "12-ask", []string{"9", order9, "HTTP 201\n{}"}},
		{"no-number", "12-ask", []string{"I do not know"}},
		{"too-much", "12-ask", []string{"order 9, of 2026", strings.ReplaceAll(order9, "1800", "10")}},
		{"no-engine", "10-sandbox", []string{"ERROR (unavailable): the container engine does not answer"}},
	} {
		for _, lang := range []string{"en", "zh"} {
			t.Run(c.scene+"/"+c.name+"/"+lang, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, url)
				s.says("user", titles[c.scene+"."+lang])
				s.play(c.seen)
				golden(t, c.scene+"."+c.name+"."+lang, s.log.String())
			})
		}
	}
}

// titlesOf are the requests that start the scenes, by scene.
func titlesOf(t *testing.T) map[string]string {
	t.Helper()
	s, err := New(Scenes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, title := range s.Titles() {
		all[title.Scene] = title.Request
	}
	return all
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
