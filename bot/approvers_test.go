package bot_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// leaves deactivates an account.
func leaves(t *testing.T, w *apptest.World, id, name string) {
	t.Helper()
	if err := w.Slack.Server.PutPerson(localslack.Person{ID: id, Name: name, RealName: name, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	w.Slack.ExpectAcked()
}

// Slack row 100: an approver who left is named on the card; the others are asked and decide.
// Slack row 101: nobody counts as told whose account is deactivated.
func TestApproverWhoLeftIsNamed(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	w, wipe, card := waiting(t, apptest.Options{
		Now: clock.Now, Roles: "  ops: {users: [U0EVE, U0MGR, U0FIN]}\n", Approvals: "approvals: {approvers: [ops], notify: dm, sweep: 200ms}",
	})
	w.Slack.ExpectUpdate(card, slacktest.Text("No longer in this workspace"), slacktest.Text("<@U0EVE>"), slacktest.NoText("Nobody but the asker"))
	w.Slack.Expect(slacktest.MetaHas("subject", "/asked/U0FIN"))
	w.Slack.Expect(slacktest.MetaHas("subject", "/asked/U0MGR"))
	w.Slack.User("fin").Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("ok"))
	if told := w.Slack.All(slacktest.MetaHas("subject", "/U0EVE")); len(told) > 0 {
		t.Errorf("somebody who left was written to: %s", told[0].Shown())
	}
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// Slack row 100: when nobody is left who could approve, the card says so at once.
func TestNobodyIsLeftToApprove(t *testing.T) {
	t.Parallel()
	w, _, card := waiting(t, apptest.Options{Roles: "  ops: {users: [U0EVE]}\n", Approvals: "approvals: {approvers: [ops], sweep: 200ms}"})
	w.Slack.ExpectUpdate(card, slacktest.Text("No longer in this workspace"), slacktest.Text("<@U0EVE>"), slacktest.Text("Nobody but the asker"))
}

// Slack row 101: who was deactivated after the card was posted may not decide.
func TestDeactivatedSinceTheCard(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	w, wipe, card := waiting(t, apptest.Options{Now: clock.Now})
	leaves(t, w, "U0MGR", "mgr")
	clock.Shift(2 * time.Second) // looks within a second are shared
	mgr := w.Slack.User("mgr")
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("deactivated"))
	if wipe.Count() != 0 {
		t.Error("it ran")
	}
}

// Slack row 103: while nobody can be looked up nobody approves, and the process says
// that it is not ready; one look-up that works mends both.
func TestFailingLookUpsMakeNotReady(t *testing.T) {
	t.Parallel()
	users, groups := localslack.APIFault{Method: "users.info", Error: "internal_error"}, localslack.APIFault{Method: "usergroups.users.list", Error: "internal_error"}
	gone := localslack.APIFault{Method: "usergroups.users.list", Error: "no_such_subteam"}
	for name, faults := range map[string][]localslack.APIFault{"all": {users, groups}, "people": {users}, "groups": {groups}, "a group that is gone": {gone}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &apptest.Shifted{}
			w, wipe, card := waiting(t, apptest.Options{Now: clock.Now})
			mgr := w.Slack.User("mgr")
			for _, f := range faults {
				w.Slack.Server.BreakAPI(f)
			}
			for range 2 {
				clock.Shift(3 * time.Minute)
				mgr.Clicks(card, "approval_approve")
				w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("can't check right now"))
			}
			if status, why := w.Ready(); status != http.StatusServiceUnavailable || !strings.Contains(why, "looked up") {
				t.Errorf("%d: %s", status, why)
			}
			w.Slack.Server.Mend()
			mgr.Clicks(card, "approval_approve")
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if status, why := w.Ready(); status != http.StatusOK {
				t.Errorf("%d: %s", status, why)
			}
			if wipe.Count() != 1 {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}
