package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
	"countersign/tools/httpapi"
)

// lossy is a HIGH tool whose first call has no clear outcome: no answer in time,
// or a connection that ends without one. It counts what reached it.
func lossy(t *testing.T, cause string) (tool tools.Tool, reached *atomic.Int64) {
	t.Helper()
	reached = &atomic.Int64{}
	if cause == "timeout" {
		return &apptest.Counter{Name: "wipe", Risk: tools.High, Do: func(ctx context.Context, c tools.Call) (tools.Result, error) {
			if reached.Add(1) == 1 {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			}
			return tools.Result{Text: "wiped", Effect: "wipe " + string(c.Args)}, nil
		}}, reached
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if reached.Add(1) == 1 {
			panic(http.ErrAbortHandler) // the connection ends, and nobody knows what happened
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(service.Close)
	tool, err := httpapi.New(httpapi.Tool{
		Name: "wipe", Description: "Wipes.", Method: http.MethodPost, URL: service.URL + "/wipe", Risk: tools.High, PrivateNetwork: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`),
	}, httpapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tool, reached
}

// uncertain is a run whose HIGH call was approved and has an unknown outcome; its
// question is in the thread.
func uncertain(t *testing.T, o apptest.Options, cause string) (s *stage, ask, question slacktest.Message, reached *atomic.Int64) {
	t.Helper()
	tool, reached := lossy(t, cause)
	o.Extra, o.Lease, o.Sweep = []tools.Tool{tool}, steadyLease, 200*time.Millisecond
	o.YAML = "\nlimits: {tool_timeout: 300ms}\n"
	if cause != "timeout" {
		o.YAML = "\nlimits: {tool_timeout: 3s}\n" // the further call is a real one, and must have its answer
	}
	o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("That is all."))
	s = start(t, o)
	ask = s.asks("wipe doc_42")
	card := s.card(ask, slacktest.Text("doc_42"))
	s.mgr.Clicks(card, "approval_approve")
	if o.Approvals != "" { // it takes two people
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.fin.Clicks(card, "approval_approve")
	}
	question = s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_happened"), slacktest.Button("uncertain_stop"))
	return s, ask, question, reached
}

func TestUncertain(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"timeout", "lost connection"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			for name, settle := range map[string]func(*testing.T, apptest.Options, string){
				"happened": itHappened, "run": runItAgain, "stop": stopHere,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					onBoth(t, func(t *testing.T, o apptest.Options) { settle(t, o, cause) })
				})
			}
		})
	}
}

func itHappened(t *testing.T, o apptest.Options, cause string) {
	s, ask, question, reached := uncertain(t, o, cause)
	s.fin.Clicks(question, "uncertain_happened")
	s.told(s.fin, "Only people with the role")
	s.ana.Clicks(question, "uncertain_happened")
	s.told(s.ana, "Only people with the role")
	s.pressesWhenThere(s.mgr, question, "uncertain_happened")
	a := s.answered(ask, "That is all.")
	s.Slack.ExpectUpdate(a, slacktest.Text("wipe (confirmed by a person)"))
	s.Slack.ExpectUpdate(question, slacktest.NoButton(""), slacktest.Text("did happen"))
	w := s.waits(agent.Success)
	if reached.Load() != 1 || w.Steps[0].State != agent.StepSucceeded || w.Steps[0].Attempts != 1 {
		t.Errorf("reached %d times, step %+v", reached.Load(), w.Steps[0])
	}
	s.mustAudit(w, "uncertain.happened", "U0MGR")
}

// Running it once more is a new approval of the same arguments, offered only when
// the first call is surely over.
func runItAgain(t *testing.T, o apptest.Options, cause string) {
	s, ask, question, reached := uncertain(t, o, cause)
	s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
	s.mgr.Clicks(question, "uncertain_run")
	s.answered(ask, "That is all.")
	s.Slack.ExpectUpdate(question, slacktest.NoButton(""))
	w := s.waits(agent.Success)
	if reached.Load() != 2 || w.Steps[0].Attempts != 2 || len(w.Approvals) != 2 {
		t.Fatalf("reached %d times, %d attempts, %d approvals", reached.Load(), w.Steps[0].Attempts, len(w.Approvals))
	}
	again := w.Approvals[1]
	if again.State != approvals.Redeemed || again.Again != w.Approvals[0].ID || string(again.Current().Args) != string(w.Approvals[0].Current().Args) {
		t.Errorf("the second approval: %+v", again)
	}
	s.mustAudit(w, "uncertain.run", "U0MGR")
}

// Where two people are needed the further call waits as a card, which can be approved
// or rejected alone: under the call's key nothing else may go out.
//
// Row B8.
func TestTheCardOfAFurtherCallCannotBeEdited(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager, finance], quorum: 2, sweep: 200ms}"
		s, ask, question, reached := uncertain(t, o, "timeout")
		s.Slack.ExpectUpdate(question, slacktest.Button("uncertain_run"))
		s.mgr.Clicks(question, "uncertain_run")
		card := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.NoButton("approval_edit"), slacktest.NoButton("approval_respond"))
		s.fin.Clicks(card, "approval_approve")
		s.answered(ask, "That is all.")
		if reached.Load() != 2 {
			t.Errorf("reached %d times", reached.Load())
		}
	})
}

func stopHere(t *testing.T, o apptest.Options, cause string) {
	s, _, question, reached := uncertain(t, o, cause)
	s.pressesWhenThere(s.mgr, question, "uncertain_stop")
	w := s.waits(agent.Cancelled)
	s.Slack.ExpectUpdate(question, slacktest.NoButton(""), slacktest.Text("stays unknown"))
	if reached.Load() != 1 || w.Steps[0].State != agent.StepFailed || w.Steps[0].Code != "stopped" {
		t.Errorf("reached %d times, step %+v", reached.Load(), w.Steps[0])
	}
}

// A MEDIUM call had no approvers: its asker says what became of it, or somebody who may approve.
func TestUncertainMedium(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		c := &apptest.Counter{Name: "remind", Risk: tools.Medium, Do: func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}}
		o.Extra, o.YAML = []tools.Tool{c}, "\nlimits: {tool_timeout: 300ms}\n"
		o.Model = apptest.Play(apptest.Calls("remind", `{"thought":"asked for","what":"it"}`), apptest.Says("That is all."))
		s := start(t, o)
		ask := s.asks("remind them")
		question := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_happened"))
		s.fin.Clicks(question, "uncertain_happened")
		s.told(s.fin, "Only people with the role")
		s.ana.Clicks(question, "uncertain_happened")
		s.answered(ask, "That is all.")
		if w := s.waits(agent.Success); c.Count() != 1 || len(w.Approvals) != 0 {
			t.Errorf("%d calls, %d approvals", c.Count(), len(w.Approvals))
		}
	})
}
