package app_test

import (
	"database/sql"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/internal/config"
	"countersign/localslack/slacktest"
)

// reread is the configuration after an edit of its text.
func (s *stage) reread(old, now string) *config.Config {
	s.t.Helper()
	text, env := s.Settings()
	changed := strings.Replace(text, old, now, 1)
	if changed == text {
		s.t.Fatalf("the configuration has no %q", old)
	}
	cfg, err := config.Parse("countersign.yaml", []byte(changed), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		s.t.Fatal(err)
	}
	return cfg
}

// What waits keeps the stricter of the policy at its opening and the one that holds
// when it is used.
func TestReloadKeepsTheStricter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Env = map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}
		s := start(t, o)
		s.asks("delete doc_42")
		card := s.Slack.Expect(slacktest.Button("approval_approve"))
		out, err := s.Newest().Reload(t.Context(), s.reread("approvers: [manager]", "approvers: [manager], quorum: 2"))
		if err != nil || len(out.Taken) != 1 || out.Taken[0].Key != "approvals.quorum" || len(out.Restart) != 0 {
			t.Fatalf("reload: %+v %v", out, err)
		}
		s.Press(s.mgr, card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
		again := s.Slack.Expect(slacktest.Button("approval_approve"))
		if !strings.Contains(again.Shown(), "policy asks for more") || s.File("docs/doc_42.md") == "" {
			t.Errorf("one approval was enough where two are needed now:\n%s", again.Shown())
		}
		if _, err := s.Newest().Reload(t.Context(), s.Config()); err != nil { // looser again
			t.Fatal(err)
		}
		s.Press(s.mgr, again, "approval_approve")
		s.Slack.ExpectUpdate(again, slacktest.Text("1"), slacktest.Button("approval_approve"))
		if s.File("docs/doc_42.md") == "" {
			t.Error("a looser policy took effect on a card that was opened under a stricter one")
		}
	})
}

// What cannot be taken over leaves everything as it was; what can is recorded, without secrets.
func TestReloadIsCheckedAndRecorded(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}})
	bad := s.reread("approvers: [manager]", "approvers: [manager], quorum: 2")
	bad.Rules = []config.Rule{{Tool: "delete_document", Risk: "low"}} // lowers a risk without a bound
	if _, err := s.Newest().Reload(t.Context(), bad); err == nil {
		t.Fatal("an unsound rule was taken over")
	}
	if out, err := s.Newest().Reload(t.Context(), s.Config()); err != nil || len(out.Taken) > 0 {
		t.Errorf("after a refused reload something had changed: %+v %v", out, err)
	}
	env := s.reread("risk: medium", "risk: high")
	env.Model.Key = config.NewSecret("sk-another-secret")
	env.HTTP.Addr = "127.0.0.1:1"
	out, err := s.Newest().Reload(t.Context(), env)
	if err != nil || len(out.Taken) != 2 || len(out.Restart) != 1 || out.Restart[0].Key != "http.addr" {
		t.Fatalf("reload: %+v %v", out, err)
	}
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(s.URL, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var data string
	if err := db.QueryRow("SELECT data FROM audit_entries WHERE kind = 'config.reloaded'").Scan(&data); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(data, "http.addr") || !strings.Contains(data, "model.api_key") || strings.Contains(data, "another-secret") {
		t.Errorf("the record says %s", data)
	}
}
