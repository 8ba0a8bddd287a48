package app_test

import (
	"strings"
	"sync"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// thinking is a turn of the model that lasts until the test lets it go on.
func thinking(then apptest.Turn) (turn apptest.Turn, begun <-chan struct{}, letGo func()) {
	start, end := make(chan struct{}), make(chan struct{})
	var once, twice sync.Once
	return apptest.Turn{From: func(apptest.Request) apptest.Turn {
		once.Do(func() { close(start) })
		<-end
		return then
	}}, start, func() { twice.Do(func() { close(end) }) }
}

// sure is a model that thinks until it is let go on, asks, and says what it was told.
func sure() (model *apptest.Script, begun <-chan struct{}, letGo func()) {
	turn, begun, letGo := thinking(apptest.Calls("ask_user", `{"thought":"sure?","question":"Shall I really delete ALL documents?"}`))
	return apptest.Play(turn, apptest.Turn{From: func(r apptest.Request) apptest.Turn {
		return apptest.Says("You said: " + r.Messages[len(r.Messages)-1].Content)
	}}), begun, letGo
}

// What the asker said before there was a question is no answer to it: not while the model
// thought, and not when a thread is read again after a restart or a reload.
func TestWordsBeforeAQuestionAreNoAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		early string
		then  func(s *stage, p *apptest.Process)
	}{
		"meanwhile": {"@countersign yes, and please hurry", func(*stage, *apptest.Process) {}},
		"restart":   {"yes, lunch at twelve", func(s *stage, p *apptest.Process) { s.Stop(p); s.Run() }},
		"reload":    {"yes, lunch at twelve", func(s *stage, _ *apptest.Process) { s.reload(s.changed(with("\n"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				model, begun, letGo := sure()
				defer letGo()
				o.Model, o.Env = model, map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}
				s := stageOf(t, apptest.New(t, o))
				p := s.Run()
				ask := s.asks("clean up")
				<-begun
				s.ana.Replies(ask, tt.early)
				s.Slack.ExpectAcked()
				letGo()
				s.Slack.Expect(slacktest.InThread(ask), slacktest.MetaHas("subject", "/question/"))
				s.waits(agent.WaitingInput)
				tt.then(s, p)
				s.ana.Replies(ask, "no, leave them")
				s.answered(ask, "You said")
				w := s.waits(agent.Success)
				if w.Steps[0].Observation != "no, leave them" {
					t.Errorf("the question was answered by %q", w.Steps[0].Observation)
				}
			})
		})
	}
}

// What the asker said before a limit was reached is no consent to go on after it.
func TestWordsBeforeALimitAllowNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		turn, begun, letGo := thinking(apptest.Says("I had to stop at the limit."))
		defer letGo()
		o.Extra = []tools.Tool{&apptest.Counter{Name: "look", Risk: tools.Low}}
		o.YAML = "limits: {max_steps: 1}\n"
		o.Model = apptest.Play(apptest.Calls("look", `{"thought":"looks","what":"a"}`), turn, apptest.Turn{From: func(r apptest.Request) apptest.Turn {
			if !strings.Contains(r.Raw, "and go on") {
				return apptest.Says("Nobody allowed this.")
			}
			return apptest.Says("More than the limit.")
		}})
		s := start(t, o)
		ask := s.asks("look around")
		<-begun // the last words, after the limit of one step
		s.ana.Replies(ask, "@countersign and please be brief")
		s.Until("the words", func() bool { return s.number("SELECT count(*) FROM inbox") == 1 })
		letGo()
		limit := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("run_continue"))
		s.ana.Replies(ask, "@countersign and go on")
		s.Slack.ExpectUpdate(limit, slacktest.Text("More than the limit."))
		s.waits(agent.Success)
	})
}
