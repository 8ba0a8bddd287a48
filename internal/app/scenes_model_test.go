package app_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// unwell is a model that fails a few times before it answers as the script says.
type unwell struct {
	script *apptest.Script
	fail   func(w http.ResponseWriter)
	times  int64

	asked atomic.Int64
}

func (u *unwell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u.asked.Add(1) <= u.times {
		_, _ = io.Copy(io.Discard, r.Body) // the client must have sent it all before it reads
		u.fail(w)
		return
	}
	u.script.ServeHTTP(w, r)
}

// Whatever the provider answers at first, the run goes on when it is well again.
func TestModelUnwell(t *testing.T) {
	t.Parallel()
	says := func(status int, body string, headers ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i+1 < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // a client that is gone needs nothing
		}
	}
	for name, fail := range map[string]func(http.ResponseWriter){
		"429":            says(http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit_exceeded"}}`, "Retry-After", "1"),
		"500":            says(http.StatusInternalServerError, `oops`),
		"no choices":     says(http.StatusOK, `{"id":"x","object":"chat.completion","choices":[]}`),
		"half a reply":   says(http.StatusOK, `{"id":"x","object":"chat.comp`),
		"nothing said":   says(http.StatusOK, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`),
		"a cut exchange": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				u := &unwell{script: apptest.Play(apptest.Says("I am well again.")), fail: fail, times: 2}
				o.Model = u
				s := start(t, o)
				s.answered(s.asks("how are you?"), "I am well again.")
				if w := s.waits(agent.Success); u.asked.Load() != 3 || w.Run.Counters.Trouble != 0 {
					t.Errorf("asked %d times, trouble %d", u.asked.Load(), w.Run.Counters.Trouble)
				}
			})
		})
	}
}

// A key that the provider refuses ends the run with one clear sentence and no secret.
func TestModelRefusesTheKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Model = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Incorrect API key provided: test","code":"invalid_api_key"}}`, http.StatusUnauthorized)
		})
		s := start(t, o)
		ask := s.asks("how are you?")
		s.answered(ask, "I'm not set up correctly to reach the model")
		if w := s.waits(agent.Failed); w.Run.Halt != agent.HaltError {
			t.Errorf("halt %s", w.Run.Halt)
		}
	})
}

// What is wrong with a call is told to the model, and nothing runs.
func TestCallsThatDoNotPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool, args string
		code             string
		parts            []string
		approvals        string
	}{
		{name: "unknown tool", tool: "wype", args: `{"what":"x"}`, code: "unknown_tool", parts: []string{"no tool named wype", "wipe"}},
		{name: "half of the arguments", tool: "wipe", args: `{"thought":"t","what":"doc`, code: "invalid_arguments"},
		{name: "missing argument", tool: "wipe", args: `{"thought":"t"}`, code: "invalid_arguments", parts: []string{"what"}},
		{name: "wrong type", tool: "wipe", args: `{"thought":"t","what":{"a":42}}`, code: "invalid_arguments", parts: []string{"what"}},
		{name: "no approvers", tool: "wipe", args: `{"thought":"t","what":"x"}`, code: "denied", parts: []string{"approvals.approvers"},
			approvals: "approvals: {approvers: [], ttl: 1h, sweep: 200ms}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o apptest.Options) {
				counter, script, o := wiping(o)
				script.Turns[0] = apptest.Calls(c.tool, c.args)
				o.Approvals = c.approvals
				s := start(t, o)
				ask := s.asks("wipe it")
				a := s.answered(ask, "That is all.")
				s.Slack.ExpectUpdate(a, slacktest.Text("Nothing was changed"))
				w := s.waits(agent.Success)
				step := w.Steps[0]
				if step.State != agent.StepRefused || step.Code != c.code || counter.Count() != 0 || len(w.Approvals) != 0 {
					t.Errorf("step %s %s, %d calls, %d approvals", step.State, step.Code, counter.Count(), len(w.Approvals))
				}
				if !strings.HasPrefix(step.Observation, "REFUSED ("+c.code+")") || !containsAll(step.Observation, c.parts) {
					t.Errorf("the model reads %q", step.Observation)
				}
			})
		})
	}
}
