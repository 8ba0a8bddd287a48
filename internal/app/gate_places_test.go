package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// organisation makes the workspace one of several of an organisation, and some of its
// people at home in another one: they keep their id everywhere.
func organisation(ids ...string) func(*localslack.Config) {
	return func(c *localslack.Config) {
		c.Team.EnterpriseID = "E0ORG"
		for i := range c.People {
			for _, id := range ids {
				if c.People[i].ID == id {
					c.People[i].TeamID, c.People[i].EnterpriseID = "T0SISTER", "E0ORG"
				}
			}
		}
	}
}

// Whoever is at home in another workspace of the organisation is one person: they may
// not approve what they asked for, and count once.
func TestOnePersonInTwoWorkspaces(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		o.Slack = []func(*localslack.Config){organisation("U0ANA", "U0MGR")}
		o.Roles = "  asker: {users: [U0ANA]}\n"
		o.Approvals = "approvals: {approvers: [manager, finance, asker], quorum: 2, sweep: 200ms}"
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		s.ana.Clicks(card, "approval_approve")
		s.told(s.ana, "somebody else has to approve it")
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		for _, team := range []string{"T0LOCAL", "T0SISTER", "T0ELSE"} {
			s.pressesFrom(s.mgr, card, team)
			s.told(s.mgr, "counted already")
			s.pressesFrom(s.ana, card, team)
			s.told(s.ana, "somebody else has to approve it")
		}
		a := s.whole().Approvals[0]
		for user, want := range map[string]string{"U0MGR": "counted", "U0ANA": "requester"} {
			out, err := s.Newest().Door().Decide(t.Context(), decisions.Attempt{
				ID: "other/" + user, Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Verdict: approvals.Approve,
				Who: policy.Actor{Team: "T0SISTER", User: user}, Via: "test",
			})
			if err != nil || out.Refused != want {
				t.Errorf("%s of another workspace: %q, %v", user, out.Refused, err)
			}
		}
		if counter.Count() != 0 {
			t.Fatal("one person was two")
		}
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "That is all.")
		if w := s.whole(); counter.Count() != 1 || len(w.Approvals[0].Decisions) != 2 {
			t.Errorf("%d calls, decisions %+v", counter.Count(), w.Approvals[0].Decisions)
		}
	})
}

// pressesFrom presses Approve with another workspace in the payload.
func (s *stage) pressesFrom(who slacktest.Person, m slacktest.Message, team string) {
	s.t.Helper()
	_, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: "approval_approve", Forge: func(p map[string]any) {
		p["user"], p["team"] = map[string]any{"id": who.ID, "team_id": team}, map[string]any{"id": team}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Who may approve is judged when they press: an approval stands although its author left
// the group before the next one came, and whoever came to the group meanwhile counts.
func TestGroupChangesBetweenTwoApprovals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42", "doc_43")
		o.Approvals = "approvals: {approvers: [manager], quorum: 2, sweep: 200ms}"
		s := start(t, o)
		ask := s.asks("wipe both")
		card, other := s.card(ask, slacktest.Text(`"doc_42"`)), s.card(ask, slacktest.Text(`"doc_43"`))
		s.fin.Clicks(card, "approval_approve")
		s.told(s.fin, "Only people with the role")
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		if err := s.Slack.Server.PutUsergroup(localslack.Usergroup{ID: "S0MGR", Handle: "managers", Name: "Managers", Members: []string{s.fin.ID}}); err != nil {
			t.Fatal(err)
		}
		s.Slack.ExpectAcked()
		s.mgr.Clicks(other, "approval_approve")
		s.told(s.mgr, "Only people with the role")
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("Done."))
		w := s.whole()
		if counter.Count() != 1 || len(w.Approvals[0].Approvers()) != 2 || len(w.Approvals[1].Decisions) != 0 {
			t.Errorf("%d calls, %+v and %+v", counter.Count(), w.Approvals[0].Decisions, w.Approvals[1].Decisions)
		}
	})
}

// In the name of somebody who left nothing is done, whoever approves it.
func TestAskerWhoLeft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, script, o := wiping(o, "doc_42")
		clock := &apptest.Shifted{}
		o.Now, o.Lease = clock.Now, 20*time.Second // such a lease lets the clocks differ by two seconds
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		if err := s.Slack.Server.PutPerson(localslack.Person{ID: s.ana.ID, Name: "ana", RealName: "Ana", Deleted: true}); err != nil {
			t.Fatal(err)
		}
		clock.Shift(2 * time.Second) // looks within a second are shared
		s.mgr.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("No longer valid"))
		w := s.waits(agent.Success)
		if counter.Count() != 0 || w.Approvals[0].State != approvals.Lapsed || w.Steps[0].Code != "not_allowed" {
			t.Errorf("%d calls, the approval is %s, the step %s", counter.Count(), w.Approvals[0].State, w.Steps[0].Code)
		}
		if results := toolResults(script.Last()); len(results) != 1 || !strings.Contains(results[0], "deactivated") {
			t.Errorf("the model read %q", results)
		}
	})
}

// Somebody of whom Slack says nothing any more asks for nothing either: a call that was
// approved in their name ends, and does not wait for a word that never comes.
func TestAskerWhomSlackKnowsNoMore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		counter, _, o := wiping(o, "doc_42")
		clock := &apptest.Shifted{}
		o.Now, o.Lease = clock.Now, 20*time.Second
		s := start(t, o)
		ask := s.asks("wipe doc_42")
		card := s.card(ask)
		if err := s.Slack.Server.PutPerson(localslack.Person{ID: s.ana.ID, Name: "ana", RealName: "Ana", Hidden: true}); err != nil {
			t.Fatal(err)
		}
		clock.Shift(2 * time.Second)
		s.mgr.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
		s.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"), slacktest.Text("No longer valid"))
		if w := s.waits(agent.Success); counter.Count() != 0 || w.Steps[0].Code != "not_allowed" {
			t.Errorf("%d calls, the step %s", counter.Count(), w.Steps[0].Code)
		}
	})
}

// askedWhich has a run that was asked back, while Slack cannot say any more who asks.
func askedWhich(t *testing.T, o apptest.Options, fault localslack.APIFault) (s *stage, clock *apptest.Shifted, ask slacktest.Message) {
	clock = &apptest.Shifted{}
	o.Now, o.Lease = clock.Now, 20*time.Second
	s = start(t, o)
	ask = s.asks("look at one of them")
	s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"), slacktest.Text("Which one?"))
	s.waits(agent.WaitingInput)
	clock.Shift(2 * time.Minute) // nobody is remembered for so long
	s.Slack.Server.BreakAPI(fault)
	s.ana.Replies(ask, "the red one")
	return s, clock, ask
}

// While Slack cannot say who asks, their run waits: no call is refused as of somebody who left.
func TestAnOutageIsNoDeparture(t *testing.T) {
	t.Parallel()
	look := &apptest.Counter{Name: "look", Risk: tools.Low}
	s, _, ask := askedWhich(t, apptest.Options{Extra: []tools.Tool{look}, Model: apptest.Play(
		apptest.Calls("ask_user", `{"thought":"a","question":"Which one?"}`), apptest.Calls("look", `{"thought":"a","what":"red"}`), apptest.Says("I looked."),
	)}, localslack.APIFault{Method: "users.info", Error: "internal_error"})
	s.Until("a look-up that failed for the run", func() bool {
		return s.number("SELECT count(*) FROM steps JOIN runs ON runs.id = steps.run WHERE steps.state = 'answered' AND lease_owner = ''") == 1
	})
	s.Slack.Server.Mend()
	s.answered(ask, "I looked.")
	if w := s.waits(agent.Success); look.Count() != 1 || len(w.Steps) != 2 || w.Steps[1].State != agent.StepSucceeded {
		t.Errorf("%d calls, %+v", look.Count(), w.Steps)
	}
}

// A role that somebody lost while the model thought is lost for the calls that it wants then.
func TestRoleLostWhileTheModelThinks(t *testing.T) {
	t.Parallel()
	turn, begun, letGo := thinking(apptest.Calls("look", `{"thought":"a","what":"red"}`))
	defer letGo()
	look := &apptest.Counter{Name: "look", Risk: tools.Low}
	s := start(t, apptest.Options{
		Extra: []tools.Tool{look}, Model: apptest.Play(turn, apptest.Says("That is all.")),
		YAML: "rules: [{tool: look, when: \"!('manager' in roles)\", deny: for managers alone}]\n",
	})
	ask := s.mgr.Says("#ops", "@countersign look")
	<-begun
	if err := s.Slack.Server.PutUsergroup(localslack.Usergroup{ID: "S0MGR", Handle: "managers", Name: "Managers", Members: []string{s.fin.ID}}); err != nil {
		t.Fatal(err)
	}
	s.Slack.ExpectAcked()
	letGo()
	s.answered(ask, "That is all.")
	if step := s.whole().Steps[0]; look.Count() != 0 || step.Code != "denied" {
		t.Errorf("%d calls, the step %s", look.Count(), step.Code)
	}
}

// A group of the settings that is gone while a run waits: nothing more is done, the model
// is not asked, and after some tries the asker is told.
func TestNobodyCanSayWhoAsks(t *testing.T) {
	t.Parallel()
	model := apptest.Play(apptest.Calls("ask_user", `{"thought":"a","question":"Which one?"}`), apptest.Says("I looked."))
	s, clock, ask := askedWhich(t, apptest.Options{Sweep: 100 * time.Millisecond, Model: model}, localslack.APIFault{Method: "usergroups.users.list", Error: "no_such_subteam"})
	s.Until("an end of the tries", func() bool {
		if s.number("SELECT count(*) FROM runs WHERE lease_owner = ''") == 1 {
			clock.Shift(time.Second)
		}
		return s.whole().Run.State == agent.Failed
	})
	s.answered(ask, "I can't find out from Slack who you are")
	if w := s.whole(); w.Run.State != agent.Failed || len(model.Requests()) != 1 {
		t.Errorf("it is %s after %d requests", w.Run.State, len(model.Requests()))
	}
}

// A guest decides only where the configuration names them by id; being in a group that
// has the role is not enough, because whoever fills a group may not know who is a guest.
func TestGuestsDecideOnlyWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	counter, _, o := wiping(apptest.Options{}, "doc_42", "doc_43")
	o.Roles, o.YAML = "  named: {users: [U0GUS]}\n", "rules: [{tool: wipe, when: \"args.what == 'doc_43'\", approvers: [named]}]\n"
	o.Slack = []func(*localslack.Config){func(c *localslack.Config) {
		c.Usergroups[0].Members = append(c.Usergroups[0].Members, "U0GUS")
	}}
	s := start(t, o)
	ask := s.asks("wipe both")
	byGroup, byName := s.card(ask, slacktest.Text(`"doc_42"`)), s.card(ask, slacktest.Text(`"doc_43"`))
	s.gus.Clicks(byGroup, "approval_approve")
	s.told(s.gus, "Guests can't do that here")
	s.gus.Clicks(byName, "approval_approve")
	s.Slack.ExpectUpdate(byName, slacktest.Text("Done."), slacktest.Text("<@U0GUS>"))
	if counter.Count() != 1 {
		t.Fatalf("%d calls", counter.Count())
	}
	s.mgr.Clicks(byGroup, "approval_approve")
	s.answered(ask, "That is all.")
	if other := s.gus.Says("#ops", "@countersign wipe doc_43"); !strings.Contains(s.answered(other).Shown(), "full members") {
		t.Error("a named guest started a run")
	}
}
