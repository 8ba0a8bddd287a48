package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pquerna/otp/totp"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

var grantID = regexp.MustCompile(`\bg[0-9a-f]{16}\b`)

// A standing grant is listed and taken back from the command line, and every place where
// its card stands says so.
func TestGrantsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			d, card, approval := waiting(t, apptest.Options{
				Database: database, YAML: "slack: {approvals_channel: C0VAULT}",
				Approvals: "approvals: {approvers: [manager], grants: {count: 3, within: 1h}, sweep: 200ms}",
			})
			if out := d.must("grants", "list"); out != "no standing grants\n" {
				t.Error(out)
			}
			above := d.Slack.Expect(d.Slack.In("#vault"), slacktest.Button("approval_approve"))
			mgr := d.Slack.User("mgr")
			d.Press(mgr, card, "approval_approve")
			d.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
			d.Press(mgr, card, "grant_open")
			form := d.Slack.ExpectModal(mgr, "without a card", "may differ from what this card shows")
			form.Fill("count", "2")
			form.MustSubmit()
			for _, m := range []slacktest.Message{card, above} {
				d.Slack.ExpectUpdate(m, slacktest.Button("grant_revoke"))
			}
			out := d.must("grants", "list")
			for _, part := range []string{"open", "delete_document", "U0MGR", "U0ANA", "0 of 2", "all", `{"id":"doc_42"}`} {
				if !strings.Contains(out, part) {
					t.Errorf("the list lacks %q:\n%s", part, out)
				}
			}
			d.fails(`There is no standing grant "g0"`, "grants", "revoke", "g0")
			grant := grantID.FindString(out)
			d.must("grants", "revoke", grant)
			for _, m := range []slacktest.Message{card, above} {
				d.Slack.ExpectUpdate(m, slacktest.NoButton("grant_revoke"), slacktest.Text("运维人员已撤销"))
			}
			d.fails("over already", "grants", "revoke", grant)
			if out := d.must("grants", "list"); out != "no standing grants\n" {
				t.Error(out)
			}
			if out := d.must("grants", "list", "--all"); !strings.Contains(out, grant) || !strings.Contains(out, "revoked operator") {
				t.Error(out)
			}
			if out := d.must("audit", "export"); !strings.Contains(out, `"kind":"grant.revoked"`) || !strings.Contains(out, approval) {
				t.Error("the record does not say who revoked it")
			}
			d.must("audit", "verify")
		})
	}
}

// What ran under a standing grant says so, with its giver, where a run is shown or exported.
func TestARunUnderAGrantNamesIt(t *testing.T) {
	t.Parallel()
	d, card, _ := waiting(t, apptest.Options{Approvals: "approvals: {approvers: [manager], grants: {count: 3, within: 1h}, sweep: 200ms}"})
	first, mgr, doc := d.runOf().ID, d.Slack.User("mgr"), d.File("docs/doc_42.md")
	d.Press(mgr, card, "approval_approve")
	d.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
	d.Press(mgr, card, "grant_open")
	d.Slack.ExpectModal(mgr, "without a card").Fill("count", "2").MustSubmit()
	d.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
	if err := os.WriteFile(filepath.Join(d.Dir, "docs", "doc_42.md"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := d.Slack.User("ana").Says("#ops", "@countersign 删除文档 doc_42")
	d.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/answer"))
	runs, err := d.Newest().Store().Runs(t.Context(), false, 10)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v, %v", runs, err)
	}
	second := runs[slices.IndexFunc(runs, func(r agent.Run) bool { return r.ID != first })].ID
	golden(t, "runs_show_grant", d.must("runs", "show", second))
	grant := grantID.FindString(d.must("grants", "list"))
	var x struct {
		Steps []struct {
			Grant string `json:"grant"`
			By    struct {
				User string `json:"user"`
			} `json:"grant_by"`
		} `json:"steps"`
	}
	if err := json.Unmarshal([]byte(d.must("runs", "export", second)), &x); err != nil {
		t.Fatal(err)
	}
	if len(x.Steps) != 1 || grant == "" || x.Steps[0].Grant != grant || x.Steps[0].By.User != "U0MGR" {
		t.Errorf("exported: %+v, the grant is %q", x.Steps, grant)
	}
}

// What one person approved alone is listed until somebody else has looked at it.
func TestReviewsAreListed(t *testing.T) {
	t.Parallel()
	d, card, approval := waiting(t, apptest.Options{
		Roles: "  oncall: {users: [U0FIN]}\n", Approvals: "approvals: {approvers: [manager], totp_key: '${CODES_KEY}', break_glass: [oncall], sweep: 200ms}",
	})
	if out := d.must("approvals", "reviews"); out != "nothing waits for a review\n" {
		t.Error(out)
	}
	_, secret, _ := strings.Cut(d.must("approvals", "enroll", "U0FIN"), "secret: ")
	proof, err := totp.GenerateCode(strings.TrimSpace(secret), d.now())
	if err != nil {
		t.Fatal(err)
	}
	fin, mgr := d.Slack.User("fin"), d.Slack.User("mgr")
	d.Press(fin, card, "glass_break")
	form := d.Slack.ExpectModal(fin, "Break glass")
	form.Fill("reason", "nobody is awake")
	form.Fill("code", proof)
	form.MustSubmit()
	look := d.Slack.Expect(slacktest.InThread(card), slacktest.Button("review_ok"))
	if out := d.must("approvals", "reviews"); !strings.Contains(out, approval) || !strings.Contains(out, "U0FIN") {
		t.Error(out)
	}
	d.Press(mgr, look, "review_ok")
	d.Slack.ExpectModal(mgr, "alone").MustSubmit()
	d.Slack.ExpectUpdate(look, slacktest.NoButton("review_ok"))
	if out := d.must("approvals", "reviews"); out != "nothing waits for a review\n" {
		t.Error(out)
	}
}
