package main

import (
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

const byCommand = "approvals: {approvers: [manager], ttl: 1h, sweep: 200ms, cli: true}"

func TestApprovalsAreShown(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{})
	golden(t, "approvals_list", d.must("approvals", "list"))
	golden(t, "approvals_show", d.must("approvals", "show", approval))
}

func TestDecidedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			d, card, approval := waiting(t, apptest.Options{Database: database, Approvals: byCommand})
			golden(t, "approvals_decide", d.must("approvals", "decide", approval, "approve", "--by", "U0MGR", "--reason", "agreed on the phone"))
			d.Slack.Expect(slacktest.InThread(card), slacktest.MetaHas("subject", "/answer"), slacktest.Text("doc_42"))
			if d.File("docs/doc_42.md") != "" {
				t.Error("the document is still there")
			}
			if out := d.must("approvals", "show", approval); !strings.Contains(out, "approve by U0MGR") || !strings.Contains(out, "through cli, ") {
				t.Error(out)
			}
			out := d.must("audit", "export")
			if !strings.Contains(out, `"kind":"approval.approve"`) || !strings.Contains(out, `"via":"cli, `) {
				t.Error(out)
			}
			d.fails("It is settled already: redeemed.", "approvals", "decide", approval, "reject", "--by", "U0MGR", "--yes")
		})
	}
}

// Slack row 28: somebody decides on the command line while another one fills a form in:
// the card says so, wherever it stands, and the form that comes too late decides nothing
// and gives back what was typed.
func TestDecidedElsewhereWhileAFormIsOpen(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"approve", "reject"} {
		for _, database := range []string{"sqlite", "postgres"} {
			t.Run(verdict+"/"+database, func(t *testing.T) {
				t.Parallel()
				d, card, approval := waiting(t, apptest.Options{
					Database: database, YAML: "slack: {approvals_channel: C0VAULT}", Approvals: "approvals: {approvers: [manager, finance], sweep: 200ms, cli: true}",
				})
				above := d.Slack.Expect(d.Slack.In("#vault"), slacktest.Button("approval_approve"))
				fin := d.Slack.User("fin")
				fin.Clicks(card, "approval_edit")
				form := d.Slack.ExpectModal(fin, "doc_42").Fill("arg:id", "doc_43")
				d.must("approvals", "decide", approval, verdict, "--by", "U0MGR", "--reason", "agreed on the phone")
				d.Slack.Expect(slacktest.InThread(card), slacktest.MetaHas("subject", "/answer"))
				if out := form.Submit(); !out.Acked || len(out.Errors) > 0 {
					t.Errorf("the late form: %+v", out)
				}
				d.Slack.ExpectModal(fin, "<@U0MGR>", "doc_43")
				for _, m := range []slacktest.Message{card, above} {
					d.Slack.ExpectUpdate(m, slacktest.NoButton("approval_approve"), slacktest.NoButton("approval_edit"), slacktest.Text("<@U0MGR>"), slacktest.Text("agreed on the phone"), slacktest.NoText("doc_43"))
				}
				c, err := d.Newest().Store().Case(t.Context(), approval)
				if err != nil || len(c.Approval.Decisions) != 1 || c.Approval.Revision != 1 {
					t.Errorf("%v, %+v", err, c)
				}
				if (d.File("docs/doc_42.md") == "") != (verdict == "approve") || d.File("docs/doc_43.md") == "" {
					t.Error("what happened is not what was decided")
				}
			})
		}
	}
}

func TestRejectedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d, card, approval := waiting(t, apptest.Options{Approvals: byCommand})
	if out := d.must("approvals", "decide", approval, "reject", "--by", "U0MGR", "--reason", "still needed"); !strings.Contains(out, "The approval is rejected.") {
		t.Error(out)
	}
	d.Slack.Expect(slacktest.InThread(card), slacktest.MetaHas("subject", "/answer"))
	if d.File("docs/doc_42.md") == "" {
		t.Error("the document was deleted")
	}
	if run := d.runOf(); run.State != agent.Success {
		t.Errorf("the run is %s", run.State)
	}
}

// The same rules hold as for a click.
func TestWhoMayNotDecide(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{Approvals: byCommand})
	for who, why := range map[string]string{
		"U0ANA": "Only people with the role manager may decide this.", "U0FIN": "Only people with the role manager",
		"U0OLI": "Only members of this workspace", "U0GUS": "Guests can't", "U0EVE": "deactivated", "U0NONE": "can't check", "U0BOT": "Only people can do that",
	} {
		d.fails(why, "approvals", "decide", approval, "approve", "--by", who, "--yes")
	}
	if out := d.must("audit", "export"); strings.Count(out, `"kind":"click.refused"`) != 7 {
		t.Errorf("refusals are not in the record: %s", out)
	}
	if d.runOf().State != agent.WaitingApproval {
		t.Error("something was decided")
	}
}

func TestTheAskerMayNotDecide(t *testing.T) {
	t.Parallel()
	d := sit(t, apptest.Start(t, apptest.Options{Approvals: byCommand}))
	ask := d.Slack.User("mgr").Says("#ops", "@countersign 删除文档 doc_42")
	d.Slack.Expect(slacktest.InThread(ask), slacktest.Text("doc_42"), slacktest.Button("approval_reject"))
	cases, err := d.Newest().Store().Cases(t.Context(), false, 1)
	if err != nil || len(cases) != 1 {
		t.Fatal(cases, err)
	}
	d.fails("somebody else has to approve it", "approvals", "decide", cases[0].Approval.ID, "approve", "--by", "U0MGR", "--yes")
}

// By a clock that differs from the database's nobody can tell whether a request is open.
func TestAWrongClockDecidesNothing(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{Database: "postgres", Approvals: byCommand})
	d.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	d.fails("clock of this machine", "approvals", "decide", approval, "approve", "--by", "U0MGR", "--yes")
	d.now = time.Now
	d.must("approvals", "decide", approval, "approve", "--by", "U0MGR", "--yes")
}

func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{})
	if out := d.fails("approvals.cli", "approvals", "decide", approval, "approve", "--by", "U0MGR", "--yes"); out != "" {
		t.Errorf("it printed %q", out)
	}
}

func TestAskedWhetherItIsMeant(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{Approvals: byCommand})
	for _, typed := range []string{"", "no\n", "y\n", "yesterday\n"} {
		d.in = typed
		if out := d.fails("Nothing was decided.", "approvals", "decide", approval, "approve", "--by", "U0MGR"); !strings.Contains(out, `"doc_42"`) {
			t.Errorf("%q: the arguments were not printed: %s", typed, out)
		}
	}
	if d.runOf().State != agent.WaitingApproval {
		t.Fatal("something was decided")
	}
	d.in = "yes\n"
	if out := d.must("approvals", "decide", approval, "approve", "--by", "U0MGR"); !strings.Contains(out, "The approval is approved.") {
		t.Error(out)
	}
}
