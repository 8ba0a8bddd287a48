package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/agent/llm/playbook"
	"countersign/internal/apptest"
	"countersign/internal/record"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// faulty is the scripted model behind a server that fails first: each request is
// spoiled a few times before it is answered as the scene says.
type faulty struct {
	scenes http.Handler
	fault  string // as the playbook's header takes it
	times  int    // per request; 0: always
	reply  bool   // it spoils what the model says first, so that the next request is another

	mu   sync.Mutex
	seen map[string]int
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f.spoils(string(body)) {
		r.Header.Set(playbook.FaultHeader, f.fault)
		w.Header().Set("Retry-After-Ms", "20")
	}
	f.scenes.ServeHTTP(w, r)
}

func (f *faulty) spoils(body string) bool {
	if f.reply {
		return !strings.Contains(body, `"role":"assistant"`)
	}
	var request struct {
		Messages json.RawMessage `json:"messages"` // the same again, while the cap falls
	}
	if json.Unmarshal([]byte(body), &request) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[string(request.Messages)]++
	return f.times == 0 || f.seen[string(request.Messages)] <= f.times
}

// under starts a world whose model fails like this.
func under(t *testing.T, f *faulty, o apptest.Options) *stage {
	t.Helper()
	scenes, err := playbook.New(playbook.Scenes(), playbook.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.scenes, f.seen = scenes, map[string]int{}
	o.Model = f
	return start(t, o)
}

// scene is one story: what is asked, what people do, and what ran in the end.
type scene struct {
	asks  string
	plays func(s *stage, ask slacktest.Message)
	ran   string // the calls that were made, each once
	state agent.RunState
}

func says(parts ...string) func(*stage, slacktest.Message) {
	return func(s *stage, ask slacktest.Message) { s.answered(ask, parts...) }
}

func approvedBy(name string, parts ...string) func(*stage, slacktest.Message) {
	return func(s *stage, ask slacktest.Message) {
		s.Slack.User(name).Clicks(s.card(ask, slacktest.Button("approval_approve")), "approval_approve")
		s.answered(ask, parts...)
	}
}

var faultScenes = map[string]scene{
	"1 balance":    {"查张三的余额，不到 100 就发充值提醒", says("充值提醒已经发出"), "query_sql succeeded, send_topup_reminder succeeded", agent.Success},
	"2 statistics": {"give me the total and the mean of the amounts in transactions.log", says("600", "200"), "read_file failed, read_file succeeded, calculate_stats succeeded", agent.Success},
	"3 delete":     {"delete document doc_42", approvedBy("mgr", "doc_42"), "delete_document succeeded", agent.Success},
	"4 edited": {"delete document doc_40", func(s *stage, ask slacktest.Message) {
		s.mgr.Clicks(s.card(ask), "approval_edit")
		s.Slack.ExpectModal(s.mgr, "Edit before it runs").Fill("arg:id", "doc_43").Fill("reason", "wrong number").MustSubmit()
		s.answered(ask, "from doc_40 to doc_43")
	}, "delete_document succeeded", agent.Success},
	"5 rejected": {"delete document doc_41", func(s *stage, ask slacktest.Message) {
		s.mgr.Clicks(s.card(ask), "approval_reject")
		s.Slack.ExpectModal(s.mgr, "Why not?").Fill("reason", "still needed").MustSubmit()
		s.answered(ask, "doc_41 was not deleted", "still needed")
	}, "", agent.Success},
	"6 week":   {"how many orders per week, and what amount?", says("2026-"), "query_sql failed, get_schema succeeded, query_sql succeeded", agent.Success},
	"7 update": {"set order 7 to shipped", approvedBy("mgr", "Order 7 is set to shipped"), "execute_sql succeeded", agent.Success},
	"8 loop":   {"keep looking at order 8 until it is delivered", says(), "query_sql succeeded, query_sql succeeded", agent.WaitingInput},
	"9 refund": {"refund 1500 of order 9", func(s *stage, ask slacktest.Message) {
		card := s.card(ask, slacktest.Button("approval_approve"))
		s.mgr.Clicks(card, "approval_approve")
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		s.pressesWhenThere(s.fin, card, "approval_approve")
		s.answered(ask, "1500")
	}, "get_order succeeded, refund succeeded", agent.Success},
}

// Rows C10, C19, C26, C29, C32, C35, B71: every scene plays to its end, with the
// same effects, when every request to the model fails before it is answered.
func TestScenesUnderFaults(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name  string
		fault *faulty
		yaml  string
	}{
		{"429", &faulty{fault: "429;1", times: 1}, ""},
		{"500, twice", &faulty{fault: "500", times: 2}, ""},
		{"529", &faulty{fault: "500;529", times: 1}, ""},
		{"a gateway's page", &faulty{fault: "html;502", times: 1}, ""},
		{"a timeout", &faulty{fault: "hang", times: 1}, "model: {timeout: 1s}\n"},
		{"cut", &faulty{fault: "cut", times: 1}, ""},
		{"a stream that is cut", &faulty{fault: "cut", times: 1}, "model: {stream: true}\n"},
		{"empty replies, until the run is put off", &faulty{fault: "empty", times: 2}, ""},
		{"malformed arguments", &faulty{fault: "malformed", reply: true}, ""},
		{"unknown tools", &faulty{fault: "unknown", reply: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := under(t, c.fault, apptest.Options{
				Database: []string{"sqlite", "postgres"}[i%2], Sweep: 200 * time.Millisecond, Slack: []func(*localslack.Config){everybodyFinance},
				YAML: refundRules + c.yaml + "limits: {max_active_time: 5m, max_steps: 20}\n",
			})
			asks := map[string]slacktest.Message{}
			for name, scene := range faultScenes {
				asks[name] = s.asks(scene.asks)
			}
			for name, scene := range faultScenes {
				scene.plays(s, asks[name])
				w := s.runOf(asks[name], scene.state)
				if got := ranOnce(t, w); got != scene.ran {
					t.Errorf("scene %s: %q ran, not %q", name, got, scene.ran)
				}
			}
			if refunded(s) != 1500 || s.order(7) != "shipped" || s.File("docs/doc_41.md") == "" || s.File("docs/doc_40.md") == "" || s.File("docs/doc_42.md")+s.File("docs/doc_43.md") != "" {
				t.Errorf("the shop is not as the scenes leave it: refunded %v, order 7 %s", refunded(s), s.order(7))
			}
		})
	}
}

// runOf is the run of a request, once it is in this state.
func (s *stage) runOf(ask slacktest.Message, state agent.RunState) *record.Whole {
	s.t.Helper()
	var found *record.Whole
	s.Until("a run that is "+string(state), func() bool {
		runs, err := s.Newest().Store().Runs(s.t.Context(), false, 50)
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range runs {
			if runs[i].TS != ask.TS || runs[i].State != state {
				continue
			}
			if found, err = s.Newest().Store().Whole(s.t.Context(), runs[i].ID); err != nil {
				s.t.Fatal(err)
			}
			return true
		}
		return false
	})
	return found
}

// ranOnce lists the calls that were made, and fails when one was made twice.
func ranOnce(t *testing.T, w *record.Whole) string {
	t.Helper()
	var out []string
	for _, step := range w.Steps {
		if step.Attempts > 1 {
			t.Errorf("%s was called %d times", step.Tool, step.Attempts)
		}
		if step.State == agent.StepSucceeded || step.State == agent.StepFailed {
			out = append(out, step.Tool+" "+string(step.State))
		}
	}
	return strings.Join(out, ", ")
}

// Rows C34, C35: what no other try can mend ends a scene at once in one
// sentence that says whose matter it is, and nothing has run.
func TestScenesEndInOneSentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fault, says string }{
		"a page in place of the API": {"html", "I'm not set up correctly to reach the model"},
		"a wrong key":                {"500;401", "I'm not set up correctly to reach the model"},
		"no such model":              {"500;404", "I'm not set up correctly to reach the model"},
		"no money":                   {"500;402", "The account with the model's provider has run out"},
		"too long":                   {"500;413", "This conversation has grown too long for the model"},
		"refused":                    {"500;422", "The model refused my request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := under(t, &faulty{fault: c.fault}, apptest.Options{})
			var asks []slacktest.Message
			for _, name := range []string{"3 delete", "6 week", "8 loop"} { // a call that waits, one that fails, one that repeats
				asks = append(asks, s.asks(faultScenes[name].asks))
			}
			for _, ask := range asks {
				a := s.answered(ask, c.says)
				if text := a.Shown(); strings.Contains(text, "html") || strings.Contains(text, "goroutine") {
					t.Errorf("the answer shows what is not for people: %s", text)
				}
				if w := s.runOf(ask, agent.Failed); len(w.Steps) != 0 || w.Run.Halt != agent.HaltError {
					t.Errorf("%d steps, halt %s", len(w.Steps), w.Run.Halt)
				}
			}
		})
	}
}
