package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/api"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// losing is a tool whose first call never answers.
func losing(risk tools.Risk) *apptest.Counter {
	c := &apptest.Counter{Name: "wipe", Risk: risk}
	c.Do = func(ctx context.Context, call tools.Call) (tools.Result, error) {
		if c.Count() > 1 {
			return tools.Result{Text: "wiped", Effect: "wipe " + string(call.Args)}, nil
		}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}
	return c
}

func lost(t *testing.T, c *apptest.Counter, yaml string) apptest.Options {
	t.Helper()
	return apptest.Options{
		Extra: []tools.Tool{c}, Lease: steadyLease, Sweep: 200 * time.Millisecond, Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)},
		YAML:  "\nlimits: {tool_timeout: 300ms, input_ttl: 1h}\n" + yaml,
		Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("That is all.")),
	}
}

// A call that nobody had to countersign is run again by its asker only while that is so:
// not when a rule asks for people by now, and not beyond what a rule lets through.
func TestAskerRunsAgainOnlyWhatIsFree(t *testing.T) {
	t.Parallel()
	t.Run("high by now", func(t *testing.T) {
		t.Parallel()
		c := losing(tools.Medium)
		s := start(t, lost(t, c, ""))
		ask := s.asks("wipe it")
		question := s.question(ask)
		s.reload(s.changed(with("rules: [{tool: wipe, risk: high}]\n")))
		s.wantsAgain(s.ana, question)
		s.another(ask, c)
	})
	t.Run("beyond a budget", func(t *testing.T) {
		t.Parallel()
		c := losing(tools.High)
		s := start(t, lost(t, c, "rules: [{tool: wipe, risk: medium, at_most: {count: 1, within: 1h}}]\n"))
		ask := s.asks("wipe it")
		s.wantsAgain(s.ana, s.question(ask))
		s.mgr.Clicks(s.another(ask, c), "approval_approve")
		s.answered(ask, "That is all.")
	})
	t.Run("free", func(t *testing.T) {
		t.Parallel()
		c := losing(tools.Medium)
		s := start(t, lost(t, c, ""))
		ask := s.asks("wipe it")
		s.wantsAgain(s.ana, s.question(ask))
		s.answered(ask, "That is all.")
	})
}

// starting dies at the commit that lets a step execute, the n-th of them: instead of it,
// or right after it, before anything is called.
type starting struct {
	*apptest.Mortal
	n     int
	after bool
	seen  int
}

func (v *starting) Commit(ctx context.Context, f agent.Fence, c agent.Change) (int64, error) {
	for _, s := range c.Steps {
		if s.Step.State == agent.StepExecuting {
			if v.seen++; v.seen == v.n {
				v.After, v.At = v.after, v.Commits()+1
			}
		}
	}
	return v.Mortal.Commit(ctx, f, c)
}

// runToStart runs a process that dies so.
func runToStart(w *apptest.World, n int, after bool) (*apptest.Process, *starting) {
	v := &starting{Mortal: &apptest.Mortal{}, n: n, after: after}
	return w.RunBetween(func(ports app.Ports) app.Ports { v.Between(ports); return v }), v
}

// A call that a dead process had announced is repeated only if it would be allowed now.
func TestTakenOverForSomebodyWhoLeft(t *testing.T) {
	t.Parallel()
	a, reached := counting(t, created)
	w := apptest.New(t, apptest.Options{Lease: steadyLease, Sweep: 200 * time.Millisecond, YAML: placed(true), Model: wipesHost(), Env: map[string]string{"WIPE_URL": a}})
	p, m := runToStart(w, 1, true)
	s := stageOf(t, w)
	ask := s.asks("wipe doc_42")
	s.mgr.Clicks(s.card(ask, slacktest.Text("doc_42")), "approval_approve")
	s.Until("a death", m.Dead)
	s.Kill(p)
	if err := s.Slack.Server.PutPerson(localslack.Person{ID: s.ana.ID, Name: "ana", RealName: "Ana", Deleted: true}); err != nil {
		t.Fatal(err)
	}
	s.Run()
	s.question(ask)
	if reached.Load() != 0 {
		t.Errorf("%d calls in the name of somebody who left", reached.Load())
	}
}

// A card whose asker is gone for good (a token that was revoked) does not hang when
// somebody approves it: the call is not made, and the run ends.
func TestApprovedForATokenThatIsGone(t *testing.T) {
	t.Parallel()
	c := &apptest.Counter{Name: "wipe", Risk: tools.High}
	s := start(t, listening(t, apptest.Options{
		Extra: []tools.Tool{c}, Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all.")),
	}))
	p := s.program("deploy", api.Ask, s.ana, "manager")
	p.wants(http.StatusAccepted, http.MethodPost, "/v1/runs", map[string]any{"text": "wipe x"})
	root := s.Slack.Expect(slacktest.MetaHas("subject", "/root"))
	card := s.Slack.Expect(slacktest.InThread(root), slacktest.Button("approval_approve"))
	if err := s.Newest().Store().RevokeToken(t.Context(), "deploy", time.Now(), audit.Entry{Kind: "token.revoked", Via: "test", Data: "{}"}); err != nil {
		t.Fatal(err)
	}
	s.mgr.Clicks(card, "approval_approve")
	s.Until("an end", func() bool { return agent.RunMachine.Terminal(s.whole().Run.State) })
	if c.Count() != 0 {
		t.Errorf("%d calls", c.Count())
	}
}

// Who answered in time was heard, also when the process died before it could act on it
// and the time to answer is over by now.
func TestAnsweredInTimeBeforeADeath(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	c := losing(tools.High)
	o := lost(t, c, "")
	o.Now, o.Approvals = clock.Now, "approvals: {approvers: [manager, finance], ttl: 9h, sweep: 200ms}"
	w := apptest.New(t, o)
	p, m := runToStart(w, 2, false)
	s := stageOf(t, w)
	ask := s.asks("wipe it")
	s.mgr.Clicks(s.card(ask), "approval_approve")
	s.wantsAgain(s.mgr, s.question(ask)) // counts as the approval
	s.Until("a death", m.Dead)
	s.Kill(p)
	clock.Shift(2 * time.Hour)
	s.Run()
	s.answered(ask, "That is all.")
	if c.Count() != 2 {
		t.Errorf("%d calls", c.Count())
	}
}

// What a private read answered counts as read also when it was an error.
func TestEgressAfterAPrivateError(t *testing.T) {
	t.Parallel()
	inside, _ := counting(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error": "the salary is 100 already"}`))
	})
	outside, sent := counting(t, created)
	s := start(t, apptest.Options{
		YAML: `
    - {name: read_salary, description: Reads., method: GET, url: "` + inside + `/s", private: true, private_network: true}
    - {name: send_out, description: Sends., method: POST, url: "` + outside + `/s", risk: medium, private_network: true, egress: true,
       parameters: {type: object, properties: {what: {type: string}}, required: [what]}}
`,
		Model: apptest.Play(apptest.Calls("read_salary", `{"thought":"look"}`), apptest.Calls("send_out", `{"thought":"tell","what":"100"}`), apptest.Says("That is all.")),
	})
	s.card(s.asks("send it"))
	if sent.Load() != 0 {
		t.Errorf("%d requests", sent.Load())
	}
}
