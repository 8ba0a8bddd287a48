package app_test

import (
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// said is what people wrote, as a request holds it.
func said(r apptest.Request) string {
	var all []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			all = append(all, m.Content)
		}
	}
	return strings.Join(all, "\n")
}

// unsaidScene has a card that waits, and a person who says something in the thread.
func unsaidScene(t *testing.T, o apptest.Options, says string) (s *stage, model *apptest.Script, ask, card, word slacktest.Message) {
	model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all."))
	o.Extra, o.Model = []tools.Tool{&apptest.Counter{Name: "wipe", Risk: tools.High}}, model
	s = start(t, o)
	ask = s.asks("wipe x")
	card = s.card(ask)
	word = s.ana.Replies(ask, says)
	s.Until("the words", func() bool { return s.number("SELECT count(*) FROM inbox") == 1 })
	return s, model, ask, card, word
}

// What its author takes back before the model has read it is not read, and what they
// write anew is read as it stands then. Who is asked meanwhile is told.
func TestWordsAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change     func(s *stage, word slacktest.Message)
		has, hasNo string
	}{
		"taken back":                   {func(s *stage, w slacktest.Message) { s.ana.Deletes(w) }, "wipe x", "also y"},
		"written anew":                 {func(s *stage, w slacktest.Message) { s.ana.Edits(w, "@countersign leave z alone") }, "leave z alone", "also y"},
		"written anew, and taken back": {func(s *stage, w slacktest.Message) { s.ana.Edits(w, "@countersign and z"); s.ana.Deletes(w) }, "wipe x", "and z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				s, model, ask, card, word := unsaidScene(t, o, "@countersign also y")
				tt.change(s, word)
				s.Slack.ExpectUpdate(card, slacktest.Text("edited or taken back"))
				s.Slack.ExpectAcked()
				s.mgr.Clicks(card, "approval_approve")
				s.answered(ask, "That is all.")
				last := said(model.Last())
				if !strings.Contains(last, tt.has) || strings.Contains(last, tt.hasNo) || strings.Contains(last, "also y") {
					t.Errorf("the model read:\n%s", last)
				}
				if n := s.number("SELECT count(*) FROM inbox WHERE consumed_at = 0"); n != 0 {
					t.Errorf("%d messages are still to be read", n)
				}
				if n := len(model.Requests()); n != 2 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

// Of what was read already the model is told what became of it.
func TestWordsTakenBackAfterTheyWereRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(s *stage, word slacktest.Message)
		has    []string
	}{
		"taken back":   {func(s *stage, w slacktest.Message) { s.ana.Deletes(w) }, []string{"was deleted by its author", "also y"}},
		"written anew": {func(s *stage, w slacktest.Message) { s.ana.Edits(w, "@countersign but not z") }, []string{"was edited by its author", "but not z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn, begun, letGo := thinking(apptest.Calls("look", `{"thought":"looks","what":"x"}`))
			defer letGo()
			model := apptest.Play(turn, apptest.Calls("wipe", `{"thought":"asked","what":"y"}`), apptest.Says("That is all."))
			s := start(t, apptest.Options{Model: model, Extra: []tools.Tool{
				&apptest.Counter{Name: "look", Risk: tools.Low}, &apptest.Counter{Name: "wipe", Risk: tools.High},
			}})
			ask := s.asks("wipe x")
			<-begun
			word := s.ana.Replies(ask, "@countersign also y")
			s.Until("the words", func() bool { return s.number("SELECT count(*) FROM inbox") == 1 })
			letGo()
			card := s.card(ask)
			tt.change(s, word)
			s.Slack.ExpectUpdate(card, slacktest.Text("edited or taken back"))
			s.mgr.Clicks(card, "approval_reject")
			form := s.Slack.ExpectModal(s.mgr, "Reject")
			form.Submit()
			s.answered(ask, "That is all.")
			for _, part := range tt.has {
				if last := said(model.Last()); !strings.Contains(last, part) {
					t.Errorf("no %q in what the model read:\n%s", part, last)
				}
			}
		})
	}
}

// An answer that was taken back after it was read is told as taken back.
func TestAnswerTakenBackAfterItWasRead(t *testing.T) {
	t.Parallel()
	turn, begun, letGo := thinking(apptest.Calls("look", `{"thought":"looks","what":"x"}`))
	defer letGo()
	model := apptest.Play(apptest.Calls("ask_user", `{"thought":"sure?","question":"Really all?"}`), turn, apptest.Says("That is all."))
	s := start(t, apptest.Options{Model: model, Extra: []tools.Tool{&apptest.Counter{Name: "look", Risk: tools.Low}}})
	ask := s.asks("clean up")
	s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"))
	s.waits(agent.WaitingInput)
	word := s.ana.Replies(ask, "yes")
	<-begun
	s.ana.Deletes(word)
	s.Until("the deletion", func() bool { return s.number("SELECT count(*) FROM inbox WHERE kind = 'taken_back'") == 1 })
	letGo()
	s.answered(ask, "That is all.")
	if last := said(model.Last()); !strings.Contains(last, "was deleted by its author") {
		t.Errorf("the model read:\n%s", last)
	}
}

// Nothing that somebody else deletes or edits in the thread changes what the asker said.
func TestOthersWordsTakeNothingBack(t *testing.T) {
	t.Parallel()
	s, model, ask, card, _ := unsaidScene(t, apptest.Options{}, "@countersign also y")
	other := s.fin.Replies(ask, "also y, please")
	s.fin.Edits(other, "not y, please")
	s.fin.Deletes(other)
	s.Slack.ExpectAcked()
	s.mgr.Clicks(card, "approval_approve")
	s.answered(ask, "That is all.")
	if last := said(model.Last()); !strings.Contains(last, "also y") {
		t.Errorf("the model read:\n%s", last)
	}
	if n := s.number("SELECT count(*) FROM inbox WHERE kind IN ('edited', 'taken_back')"); n != 0 {
		t.Errorf("%d changes were told", n)
	}
}
