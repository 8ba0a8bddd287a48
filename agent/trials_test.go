package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/tools"
)

// Effects are looked at thirty times at once for one asker, and once more every two
// seconds; what another one asks does not count.
func TestTrialsAreBoundedForOneAsker(t *testing.T) {
	t.Parallel()
	type look struct {
		after  time.Duration
		asker  string
		times  int
		looked int
	}
	for name, looks := range map[string][]look{
		"at once":            {{0, "U1", 40, 30}},
		"bit by bit":         {{0, "U1", 30, 30}, {2 * time.Second, "U1", 3, 1}, {4 * time.Second, "U1", 3, 2}},
		"half a second":      {{0, "U1", 30, 30}, {500 * time.Millisecond, "U1", 1, 0}},
		"a minute later":     {{0, "U1", 31, 30}, {time.Minute, "U1", 31, 30}},
		"an hour is no more": {{0, "U1", 31, 30}, {time.Hour, "U1", 40, 30}},
		"each for themself":  {{0, "U1", 31, 30}, {0, "U2", 31, 30}, {0, "U1", 1, 0}},
		"nobody is forgotten": {
			{0, "U1", 30, 30}, {0, "U2", 1, 1}, {10 * time.Second, "U3", 1, 1}, {0, "U1", 10, 5}, {0, "U2", 40, 30},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.gate.Trials = agent.NewTrials(s.db.Clock.Now)
			shown := 0
			s.tools["wipe"].show = func() tools.Preview { shown++; return tools.Preview{Summary: "seen"} }
			for i, l := range looks {
				s.db.Clock.Step(l.after)
				before := shown
				for range l.times {
					p, failure := s.gate.Preview(t.Context(), s.tools["wipe"], tools.Call{Asker: l.asker})
					if failure != nil || (p.Untried == tools.TriedTooOften) == (p.Summary == "seen") {
						t.Fatalf("preview %+v, failure %v", p, failure)
					}
				}
				if got := shown - before; got != l.looked {
					t.Errorf("look %d of %s: the tool was asked %d times, want %d", i+1, l.asker, got, l.looked)
				}
			}
		})
	}
}

// A call whose effect is not looked at any more when it is about to run does not run: it
// is asked about again, and the card says why.
func TestAnEffectThatIsNotLookedAtIsNotTheOneShown(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, calls("wipe", `{"what":"a"}`), says("ok"))
	s.gate.Trials = agent.NewTrials(s.db.Clock.Now)
	s.tools["wipe"].show = func() tools.Preview {
		return tools.Preview{Summary: "one", Material: map[string]string{"rows": "1"}}
	}
	s.start()
	for range 30 {
		s.gate.Preview(t.Context(), s.tools["wipe"], tools.Call{Asker: "U1"})
	}
	first := s.pending(1)
	s.decide(1, approvals.Approve)
	s.advance().want(agent.WaitingApproval, agent.HaltApproval)
	s.ran("wipe", 0)
	second := s.pending(1)
	if p := second.Current().Preview; second.ID == first.ID || p.Untried != tools.TriedTooOften || !strings.Contains(second.Why, tools.TriedTooOften) {
		t.Errorf("asked again as %s (first %s), because %q, with %+v", second.ID, first.ID, second.Why, p)
	}
	if fmt.Sprint(first.Current().Preview.Material) != "map[rows:1]" {
		t.Errorf("first shown was %+v", first.Current().Preview)
	}
}
