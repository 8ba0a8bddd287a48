package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// forgetful is a HIGH tool whose first call never answers. Its preview says what the
// world looks like at the moment.
func forgetful(world *atomic.Value) *apptest.Counter {
	c := &apptest.Counter{Name: "wipe", Risk: tools.High, Show: func(context.Context, tools.Call) (tools.Preview, error) {
		return tools.Preview{Summary: fmt.Sprint(world.Load())}, nil
	}}
	c.Do = func(ctx context.Context, call tools.Call) (tools.Result, error) {
		if c.Count() > 1 {
			return tools.Result{Text: "wiped", Effect: "wipe " + string(call.Args)}, nil
		}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	return c
}

// material is a preview that says what the world looks like at the moment, and is compared
// before the call.
func material(world *atomic.Value) func(context.Context, tools.Call) (tools.Preview, error) {
	return func(context.Context, tools.Call) (tools.Preview, error) {
		now := fmt.Sprint(world.Load())
		return tools.Preview{Summary: now, Material: map[string]string{"rows": now}}, nil
	}
}

// lapsesEdited lets Finance edit a call and the manager approve that when the world is
// another one already. It waits for the card that asks again.
func (s *stage) lapsesEdited(ask slacktest.Message, world *atomic.Value, more ...slacktest.Match) slacktest.Message {
	s.t.Helper()
	card := s.card(ask, slacktest.Text("doc_42"))
	s.edits(s.fin, card, "arg:what", "doc_66")
	world.Store("many rows")
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	return s.card(ask, append(more, slacktest.Text("many rows"))...)
}

// forgotten asks for a call of a forgetful tool, under the approvals' settings.
func forgotten(t *testing.T, o apptest.Options, c *apptest.Counter, settings, what string) (*stage, slacktest.Message) {
	t.Helper()
	o.Extra, o.Lease, o.Sweep, o.YAML = []tools.Tool{c}, steadyLease, 200*time.Millisecond, "\nlimits: {tool_timeout: 300ms}\n"
	o.Approvals = "approvals: {approvers: [manager, finance], sweep: 200ms" + settings + "}"
	o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked for","what":"`+what+`"}`), apptest.Says("That is all."))
	s := start(t, o)
	return s, s.asks("wipe it")
}

// question waits for what asks what became of a call.
func (s *stage) question(ask slacktest.Message) slacktest.Message {
	s.t.Helper()
	return s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_happened"))
}

// wantsAgain presses that the call of unknown outcome be run again.
func (s *stage) wantsAgain(who slacktest.Person, question slacktest.Message) {
	s.t.Helper()
	s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
	s.pressesWhenThere(who, question, "uncertain_run")
}

// another waits for the card of the second call, and holds that nothing ran meanwhile.
func (s *stage) another(ask slacktest.Message, c *apptest.Counter, more ...slacktest.Match) slacktest.Message {
	s.t.Helper()
	card := s.card(ask, append(more, slacktest.Text("first call is not known"))...)
	if c.Count() != 1 {
		s.t.Errorf("%d calls before anybody read the new card", c.Count())
	}
	return card
}

// Running a call again takes what the first card took: a press is no one-time code.
func TestRunAgainTakesACode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row")
		c := forgetful(&world)
		s, ask := forgotten(t, o, c, `, step_up: totp, totp_key: "${CODES_KEY}"`, "doc_42")
		s.enrolls(s.mgr)
		card := s.card(ask, slacktest.Button("approval_show"))
		if errs := s.proves(s.mgr, card, code(t, 0)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.wantsAgain(s.fin, s.question(ask)) // who has no code at all
		fresh := s.another(ask, c, slacktest.Button("approval_show"), slacktest.NoButton("approval_approve"))
		if errs := s.proves(s.mgr, fresh, code(t, 1)); len(errs) > 0 {
			t.Fatal(errs)
		}
		s.answered(ask, "That is all.")
		s.mustHaveRecorded(map[string]int{"approval.redeemed": 2})
	})
}

// A call that would do something else by now is run again only by who read that.
func TestRunAgainUnderAnotherEffect(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row of staging")
		c := forgetful(&world)
		s, ask := forgotten(t, o, c, "", "doc_42")
		s.mgr.Clicks(s.card(ask, slacktest.Text("one row of staging")), "approval_approve")
		world.Store("four million rows")
		s.wantsAgain(s.mgr, s.question(ask))
		s.mgr.Clicks(s.another(ask, c, slacktest.Text("four million rows")), "approval_approve")
		s.answered(ask, "That is all.")
	})
}

// Who edited a call stays its requester when it is run again, and when what it was
// approved for changed.
func TestEditorStaysRequester(t *testing.T) {
	t.Parallel()
	edited := func(t *testing.T, o apptest.Options, world *atomic.Value) (*stage, slacktest.Message, *apptest.Counter, slacktest.Message) {
		c := forgetful(world)
		s, ask := forgotten(t, o, c, ", edit_approves: false", "doc_42")
		card := s.card(ask, slacktest.Text("doc_42"))
		s.edits(s.fin, card, "arg:what", "doc_66")
		return s, ask, c, card
	}
	t.Run("run again", func(t *testing.T) {
		t.Parallel()
		var world atomic.Value
		world.Store("one row")
		s, ask, c, card := edited(t, apptest.Options{}, &world)
		s.pressesWhenThere(s.mgr, card, "approval_approve")
		s.wantsAgain(s.fin, s.question(ask))
		fresh := s.another(ask, c, slacktest.Text("doc_66"))
		s.pressesWhenThere(s.fin, fresh, "approval_approve")
		s.told(s.fin, "somebody else has to approve")
		s.pressesWhenThere(s.mgr, fresh, "approval_approve")
		s.answered(ask, "That is all.")
	})
	t.Run("asked again", func(t *testing.T) {
		t.Parallel()
		var world atomic.Value
		world.Store("one row")
		c := forgetful(&world)
		c.Show = material(&world)
		s, ask := forgotten(t, apptest.Options{}, c, ", edit_approves: false", "doc_42")
		fresh := s.lapsesEdited(ask, &world, slacktest.Text("the effect changed"))
		s.pressesWhenThere(s.fin, fresh, "approval_approve")
		s.told(s.fin, "somebody else has to approve")
		if c.Count() != 0 {
			t.Errorf("%d calls", c.Count())
		}
	})
}

// A press counts for nothing that the person was not shown.
func TestRunAgainOfWhatWasNotSeen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		var world atomic.Value
		world.Store("one row")
		c := forgetful(&world)
		s, ask := forgotten(t, o, c, "", strings.Repeat("keep everything. ", 400)+"AND DROP THE LEDGER")
		card := s.card(ask, slacktest.NoText("LEDGER"))
		s.pressesWhenThere(s.mgr, card, "approval_show")
		s.Slack.ExpectModal(s.mgr, "LEDGER").MustSubmit()
		s.wantsAgain(s.fin, s.question(ask)) // who has opened nothing
		fresh := s.another(ask, c, slacktest.Button("approval_show"))
		s.pressesWhenThere(s.fin, fresh, "approval_show")
		s.Slack.ExpectModal(s.fin, "LEDGER").MustSubmit()
		s.answered(ask, "That is all.")
	})
}

// What cannot run any more is said to whoever wants it to.
func TestRunAgainOfWhatCannotRun(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	var world atomic.Value
	world.Store("one row")
	c := forgetful(&world)
	show := c.Show
	c.Show = func(ctx context.Context, call tools.Call) (tools.Preview, error) {
		if gone.Load() {
			return tools.Preview{}, &tools.Failure{Code: "not_found", Message: "there is no doc_42 any more"}
		}
		return show(ctx, call)
	}
	s, ask := forgotten(t, apptest.Options{}, c, "", "doc_42")
	s.mgr.Clicks(s.card(ask), "approval_approve")
	question := s.question(ask)
	gone.Store(true)
	s.wantsAgain(s.mgr, question)
	s.told(s.mgr, "there is no doc_42 any more")
	s.pressesWhenThere(s.mgr, question, "uncertain_happened")
	s.answered(ask, "That is all.")
	if c.Count() != 1 {
		t.Errorf("%d calls", c.Count())
	}
}

// counting is a service that counts what reaches it.
func counting(t *testing.T, answer http.HandlerFunc) (address string, reached *atomic.Int64) {
	t.Helper()
	reached = &atomic.Int64{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		answer(w, r)
	}))
	t.Cleanup(service.Close)
	return service.URL, reached
}

func created(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }

// placed is a tool whose address is in the environment.
func placed(idempotent bool) string {
	return fmt.Sprintf(`
    - name: wipe_host
      description: Wipe.
      method: POST
      url: "${WIPE_URL}/wipe"
      risk: high
      idempotent: %v
      private_network: true
      parameters: {type: object, properties: {what: {type: string}}, required: [what]}
limits: {tool_timeout: 2s}
`, idempotent)
}

func wipesHost() *apptest.Script {
	return apptest.Play(apptest.Calls("wipe_host", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("That is all."))
}

// startLossy is a world whose tool is at an address that loses answers.
func startLossy(t *testing.T, address string) *stage {
	t.Helper()
	return start(t, apptest.Options{
		Lease: steadyLease, Sweep: 200 * time.Millisecond, YAML: placed(false), Model: wipesHost(),
		Env: map[string]string{"WIPE_URL": address, "COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Approvals: "approvals: {approvers: [manager, finance], sweep: 200ms}",
	})
}

// A tool that goes elsewhere by now is another tool: who wants the call to run again
// reads the new address first.
func TestRunAgainElsewhere(t *testing.T) {
	t.Parallel()
	a, atA := counting(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	b, atB := counting(t, created)
	s := startLossy(t, a)
	ask := s.asks("wipe doc_42")
	s.mgr.Clicks(s.card(ask, slacktest.Text("doc_42")), "approval_approve")
	question := s.question(ask)
	s.reload(s.changed(func(text string, env map[string]string) string { env["WIPE_URL"] = b; return text }))
	s.wantsAgain(s.mgr, question)
	fresh := s.card(ask, slacktest.Text(b))
	if atA.Load() != 1 || atB.Load() != 0 {
		t.Errorf("%d and %d calls", atA.Load(), atB.Load())
	}
	s.mgr.Clicks(fresh, "approval_approve")
	s.answered(ask, "That is all.")
	if atA.Load() != 1 || atB.Load() != 1 {
		t.Errorf("%d and %d calls", atA.Load(), atB.Load())
	}
}

// A call that a dead process left is repeated under its key only where it was made:
// another service has never heard of that key.
func TestTakenOverElsewhere(t *testing.T) {
	t.Parallel()
	m := &apptest.Mortal{}
	a, atA := counting(t, func(w http.ResponseWriter, _ *http.Request) {
		m.At = m.Commits() + 1
		w.WriteHeader(http.StatusCreated)
	})
	b, atB := counting(t, created)
	env := map[string]string{"WIPE_URL": a}
	w := apptest.New(t, apptest.Options{Lease: steadyLease, Sweep: 200 * time.Millisecond, YAML: placed(true), Env: env, Model: wipesHost()})
	p := w.RunBetween(m.Between)
	s := stageOf(t, w)
	ask := s.asks("wipe doc_42")
	s.mgr.Clicks(s.card(ask, slacktest.Text("doc_42")), "approval_approve")
	s.Until("a death", m.Dead)
	s.Kill(p)
	env["WIPE_URL"] = b
	s.Run()
	s.question(ask)
	if atA.Load() != 1 || atB.Load() != 0 {
		t.Errorf("%d and %d calls", atA.Load(), atB.Load())
	}
}

// A call that had no card, because a rule let it pass and counted that, was shown to
// nobody: running it again takes a card that can be read.
func TestRunAgainOfWhatHadNoCard(t *testing.T) {
	t.Parallel()
	for name, private := range map[string]bool{"private": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var world atomic.Value
			world.Store("four million rows")
			c := forgetful(&world)
			c.Private = private
			s := start(t, apptest.Options{
				Extra: []tools.Tool{c}, Lease: 3 * time.Second, Sweep: 200 * time.Millisecond,
				YAML:      "limits: {tool_timeout: 300ms}\nrules: [{tool: wipe, risk: medium, at_most: {count: 1, within: 24h}}]\n",
				Approvals: "approvals: {approvers: [manager, finance], sweep: 200ms}",
				Model:     apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"doc_42"}`), apptest.Says("That is all.")),
			})
			ask := s.asks("wipe it")
			s.wantsAgain(s.mgr, s.question(ask))
			fresh := s.card(ask)
			if c.Count() != 1 {
				t.Errorf("%d calls before anybody read the new card", c.Count())
			}
			if private {
				s.pressesWhenThere(s.mgr, fresh, "approval_show")
				s.Slack.ExpectModal(s.mgr, "doc_42").MustSubmit()
			} else {
				s.pressesWhenThere(s.mgr, fresh, "approval_approve")
			}
			s.Until("a second call", func() bool { return c.Count() == 2 })
		})
	}
}

// A press is about the attempt that the person read about, not about a later one.
func TestRunAgainOfAnotherAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "wipe", Risk: tools.High, Do: func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{}, errors.New("the connection ended")
		}}
		s, ask := forgotten(t, o, c, "", "doc_42")
		s.mgr.Clicks(s.card(ask, slacktest.Text("doc_42")), "approval_approve")
		question := s.question(ask)
		s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
		first := question.Value("uncertain_run")
		s.pressesWhenThere(s.fin, question, "uncertain_run")
		s.Until("a second attempt", func() bool {
			return s.number("SELECT count(*) FROM steps WHERE state = 'uncertain' AND attempts = 2") == 1
		})
		s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
		s.pressesWith(s.mgr, question, "uncertain_run", first)
		s.told(s.mgr, "changed since you saw it")
		if c.Count() != 2 {
			t.Errorf("%d calls", c.Count())
		}
	})
}
