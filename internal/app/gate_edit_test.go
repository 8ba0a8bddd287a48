package app_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// editors is a world in which two people of several must countersign.
func editors(t *testing.T, o apptest.Options) (*stage, *apptest.Counter, slacktest.Message, slacktest.Message) {
	t.Helper()
	counter, _, o := wiping(o, "doc_42")
	o.Roles = "  third: {users: [U0THI]}\n"
	o.Approvals = "approvals: {approvers: [manager, finance, third], quorum: 2, ttl: 1h, sweep: 200ms}"
	o.Slack = []func(*localslack.Config){func(c *localslack.Config) {
		c.People = append(c.People, localslack.Person{ID: "U0THI", Name: "thi", RealName: "Third"})
		c.Channels[0].Members = append(c.Channels[0].Members, "U0THI")
	}}
	s := start(t, o)
	ask := s.asks("wipe doc_42")
	return s, counter, ask, s.card(ask)
}

// What people approved before an edit is void: it is asked for again, on what it became.
func TestEditVoidsWhatWasApproved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s, counter, ask, card := editors(t, o)
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"), slacktest.Text("So far: <@U0MGR>"))
		s.fin.Clicks(card, "approval_edit")
		s.Slack.ExpectModal(s.fin, "Edit before it runs").Fill("arg:what", "doc_43").MustSubmit()
		s.Slack.ExpectUpdate(card, slacktest.Text("doc_43"), slacktest.Text("1 of 2"), slacktest.Text("So far: <@U0FIN>"))
		a := s.whole().Approvals[0]
		if !a.Decisions[0].Void || a.State != approvals.Pending || counter.Count() != 0 {
			t.Fatalf("after the edit: %s, %+v, %d calls", a.State, a.Decisions, counter.Count())
		}
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		s.answered(ask, "That is all.")
		if all := counter.All(); len(all) != 1 || string(all[0].Args) != `{"what":"doc_43"}` {
			t.Errorf("ran %v", all)
		}
	})
}

// Several people edit at once, and one more approves what was there before: one edit
// makes the next revision, the others read what happened, and nothing that nobody saw runs.
func TestEditsRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		s, counter, ask, card := editors(t, o)
		thi := s.Slack.User("thi")
		forms := map[string]*slacktest.Modal{}
		for _, who := range []slacktest.Person{s.mgr, s.fin} {
			who.Clicks(card, "approval_edit")
			forms[who.ID] = s.Slack.ExpectModal(who, "Edit before it runs").Fill("arg:what", "by-"+strings.ToLower(who.ID))
		}
		var all sync.WaitGroup
		for _, form := range forms {
			all.Go(func() { form.Submit() })
		}
		all.Go(func() { s.Press(thi, card, "approval_approve") })
		all.Wait()
		s.Until("an edit", func() bool { return s.whole().Approvals[0].Revision == 2 })
		a := s.whole().Approvals[0]
		editor := a.Revisions[1].By.User
		if want := `{"what":"by-` + strings.ToLower(editor) + `"}`; string(a.Revisions[1].Args) != want {
			t.Errorf("revision 2 of %s: %s", editor, a.Revisions[1].Args)
		}
		if a.State != approvals.Pending || a.Approvals() != 1 || counter.Count() != 0 {
			t.Fatalf("%s, %d people, %d calls, %+v", a.State, a.Approvals(), counter.Count(), a.Decisions)
		}
		s.Slack.ExpectUpdate(card, slacktest.Text("by-"+strings.ToLower(editor)), slacktest.Button("approval_approve"))
		s.pressesWhenThere(thi, card, "approval_approve")
		s.answered(ask, "That is all.")
		w := s.waits(agent.Success)
		if ran := counter.All(); len(ran) != 1 || string(ran[0].Args) != string(a.Revisions[1].Args) || len(w.Approvals[0].Revisions) != 2 {
			t.Errorf("ran %v", ran)
		}
	})
}

// What a call has by default cannot be left out of it by a form: it would run with a value
// that nobody wrote.
func TestEditLeavesNoDefaultOut(t *testing.T) {
	t.Parallel()
	c := &apptest.Counter{Name: "wipe", Risk: tools.High, Schema: `{"type":"object","properties":{"what":{"type":"string"},"force":{"type":"boolean","default":true},"soon":{"type":"boolean"}},"required":["what"],"additionalProperties":false}`}
	s := start(t, apptest.Options{Extra: []tools.Tool{c}, Model: apptest.Play(apptest.Calls("wipe", `{"thought":"a","what":"doc_42","force":false,"soon":true}`), apptest.Says("That is all."))})
	ask := s.asks("wipe doc_42")
	s.pressesWhenThere(s.mgr, s.card(ask, slacktest.Text("force: false")), "approval_edit")
	form := s.Slack.ExpectModal(s.mgr, "Why the change?")
	if n := strings.Count(form.Shown(), "leave out"); n != 1 {
		t.Fatalf("%d arguments can be left out:\n%s", n, form.Shown())
	}
	form.Fill("arg:soon", "-")
	form.MustSubmit()
	s.answered(ask, "That is all.")
	if all := c.All(); len(all) != 1 || string(all[0].Args) != `{"force":false,"what":"doc_42"}` {
		t.Errorf("calls: %+v", all)
	}
}

// Where the call is something else than was written (a default within an argument), saving
// is no approval: it is read on the card first, and somebody else decides.
func TestEditOfWhatADefaultAdds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "wipe", Risk: tools.High, Schema: `{"type":"object","properties":{"what":{"type":"string"},"how":{"type":"object","properties":{"force":{"type":"boolean","default":true}}}},"required":["what","how"],"additionalProperties":false}`}
		o.Extra, o.Approvals = []tools.Tool{c}, "approvals: {approvers: [manager, finance]}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"a","what":"doc_42","how":{"force":false}}`), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.pressesWhenThere(s.mgr, card, "approval_edit")
		form := s.Slack.ExpectModal(s.mgr, "Why the change?")
		form.Fill("arg:how", "{}")
		form.MustSubmit()
		s.Slack.ExpectUpdate(card, slacktest.Text("changed it"), slacktest.Text("true"), slacktest.Button("approval_approve"))
		if w := s.whole(); states(w) != "pending" || w.Approvals[0].Approvals() != 0 || c.Count() != 0 {
			t.Fatalf("%s, %d people, %d calls", states(w), w.Approvals[0].Approvals(), c.Count())
		}
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "That is all.")
		if all := c.All(); len(all) != 1 || string(all[0].Args) != `{"how":{"force":true},"what":"doc_42"}` {
			t.Errorf("calls: %+v", all)
		}
	})
}

// Saving an edit approves no more than Approve would: of a card that hides a part of the
// arguments everything is opened first, and what cannot be seen is named in the form, too.
func TestEditOfWhatWasNotOpened(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "mail", Risk: tools.High, Schema: `{"type":"object","properties":{"subject":{"type":"string"},"to":{"type":"array","items":{"type":"string"}}},"required":["subject","to"],"additionalProperties":false}`}
		to := `["boss\u202emoc.live\u202c@example.com\u200b"` + strings.Repeat(`,"somebody@example.com"`, 300) + `]`
		o.Extra = []tools.Tool{c}
		o.Model = apptest.Play(apptest.Calls("mail", `{"thought":"a","subject":"hello","to":`+to+`}`), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("mail them")
		card := s.card(ask, slacktest.Button("approval_show"), slacktest.NoButton("approval_approve"))
		s.pressesWhenThere(s.mgr, card, "approval_edit")
		s.Slack.ExpectModal(s.mgr, "Please open")
		a := s.whole().Approvals[0]
		out, err := s.Newest().Door().Decide(t.Context(), decisions.Attempt{
			ID: "unseen", Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Verdict: approvals.Edit, Unseen: true,
			Args: `{"subject":"hello all","to":` + to + `}`, Who: policy.Actor{Team: "T0LOCAL", User: s.mgr.ID}, Via: "test",
		})
		if err != nil || out.Refused != "unseen" || c.Count() != 0 {
			t.Fatalf("%q, %v, %d calls", out.Refused, err, c.Count())
		}
		s.pressesWhenThere(s.mgr, card, "approval_show")
		s.Slack.ExpectModal(s.mgr, "Everything", "⟨U+202E⟩")
		s.Until("an opening", func() bool { return s.number("SELECT count(*) FROM openings") == 1 })
		s.pressesWhenThere(s.mgr, card, "approval_edit")
		form := s.Slack.ExpectModal(s.mgr, "Why the change?", "Holds characters")
		if first := form.Initial("arg:to"); !strings.Contains(first, `boss\u202emoc.live\u202c@example.com\u200b`) {
			t.Errorf("the form begins with %q", first[:80])
		}
		form.Fill("arg:subject", "hello all")
		form.MustSubmit()
		s.answered(ask, "That is all.")
		var ran struct {
			Subject string
			To      []string
		}
		if all := c.All(); len(all) != 1 || json.Unmarshal(all[0].Args, &ran) != nil {
			t.Fatalf("%d calls", len(all))
		}
		if ran.Subject != "hello all" || len(ran.To) != 301 || ran.To[0] != "boss\u202emoc.live\u202c@example.com\u200b" {
			t.Errorf("ran %q for %d, first %q", ran.Subject, len(ran.To), ran.To[0])
		}
	})
}

// edits changes one field of a call and waits until its card says so.
func (s *stage) edits(who slacktest.Person, card slacktest.Message, field, value string) {
	s.t.Helper()
	s.pressesWhenThere(who, card, "approval_edit")
	form := s.Slack.ExpectModal(who, "Why the change?")
	form.Fill(field, value)
	form.MustSubmit()
	s.Slack.ExpectUpdate(card, slacktest.Text(value))
}
