package agent_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/tools"
)

// histories is how many stories one run plays; the soak sets more.
func histories() int {
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_HISTORIES")); err == nil && n > 0 {
		return n
	}
	return 40
}

// first is the story to begin with, to see one again.
func first() int {
	n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_FIRST"))
	if err != nil {
		return 0
	}
	return n
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// step is one random thing that happens.
func (h *history) step() {
	switch h.rand.IntN(9) {
	case 0, 1, 2:
		left := -1
		if h.rand.IntN(3) == 0 {
			left = 1 + h.rand.IntN(6)
		}
		h.advance(left)
	case 3, 4:
		h.decide()
	case 5:
		h.say()
	case 6:
		h.settle()
	case 7:
		h.db.Clock.Step(time.Duration(h.rand.IntN(30)) * time.Second)
		if h.rand.IntN(8) == 0 {
			h.world++ // what previews show is different from now on
			h.note("the world changes")
		}
	case 8:
		if h.rand.IntN(4) == 0 {
			h.db.Clock.Step(2 * time.Hour)
			_, door := h.process("sweeper", -1)
			h.must(door.ExpireDue(h.t.Context()))
			h.note("two hours pass")
		}
	}
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.failf("unexpected: %v", err)
	}
}

func (h *history) advance(left int) {
	a, _ := h.process(fmt.Sprintf("p%d", h.rand.IntN(1<<30)), left)
	h.note("advance, dying after %d commits", left)
	if err := a.Advance(h.t.Context(), h.run); err != nil && !errors.Is(err, errDied) {
		h.failf("advance: %v", err)
	}
}

func (h *history) load() *agent.Work {
	w, err := h.db.Load(h.t.Context(), h.run)
	if err != nil {
		h.t.Fatal(err)
	}
	return w
}

var deciders = []string{"U1", "M1", "M2", "M3", "OUT", "NOBODY"}

// decide lets somebody try a verdict on some approval, sometimes on an old digest.
func (h *history) decide() {
	for _, a := range h.load().Approvals {
		if h.rand.IntN(2) == 0 {
			continue
		}
		r := a.Current()
		t := decisions.Attempt{
			ID: fmt.Sprintf("d%d", h.rand.Int64()), Approval: a.ID, Revision: r.N, Digest: r.Digest, Via: "slack", Text: "because",
			Who:     policy.Actor{Team: "T1", User: deciders[h.rand.IntN(len(deciders))]},
			Verdict: []approvals.Verdict{approvals.Approve, approvals.Approve, approvals.Approve, approvals.Reject, approvals.Edit, approvals.Respond}[h.rand.IntN(6)],
			Args:    fmt.Sprintf(`{"what":"edited %d"}`, h.rand.IntN(3)),
		}
		if h.rand.IntN(5) == 0 {
			t.Digest = "stale"
		}
		_, door := h.process("door", -1)
		out, err := door.Decide(h.t.Context(), t)
		h.must(err)
		h.note("%s tries %s on %s/%d: %q", t.Who.User, t.Verdict, a.ID, r.N, out.Refused)
		if out.Refused == "" && (t.Digest == "stale" || t.Who.User == "U1" || t.Who.User == "OUT" || t.Who.User == "NOBODY") {
			h.failf("%s may not decide on this", t.Who.User)
		}
	}
}

func (h *history) say() {
	a, _ := h.process("ear", -1)
	kind := []agent.MessageKind{agent.FollowUp, agent.FollowUp, agent.FollowUp, agent.Continue, agent.Stop}[h.rand.IntN(5)]
	if kind == agent.Stop && h.rand.IntN(3) > 0 {
		return
	}
	from := policy.Actor{Team: "T1", User: []string{"U1", "M1"}[h.rand.IntN(2)]}
	err := a.Tell(h.t.Context(), agent.Message{Run: h.run, Kind: kind, From: from, Text: "more"}, fmt.Sprintf("k%d", h.rand.Int64()))
	if err != nil && !errors.Is(err, agent.ErrSettled) {
		h.failf("tell: %v", err)
	}
	h.note("%s says %s", from.User, kind)
}

// settle lets somebody say what became of an uncertain step.
func (h *history) settle() {
	for _, s := range h.load().Steps {
		if s.State != agent.StepUncertain {
			continue
		}
		f := []decisions.Finding{decisions.Happened, decisions.RunAgain, decisions.GiveUp}[h.rand.IntN(3)]
		_, door := h.process("door", -1)
		out, err := door.Settle(h.t.Context(), decisions.Settlement{
			ID: fmt.Sprintf("f%d", h.rand.Int64()), Run: h.run, Step: s.N, Finding: f,
			Who: policy.Actor{Team: "T1", User: deciders[h.rand.IntN(len(deciders))]}, Via: "slack",
		})
		h.must(err)
		h.note("step %d is said to have %s: %q", s.N, f, out.Refused)
	}
}

// drain lets the story come to its end: everybody answers, every lease runs out.
func (h *history) drain() {
	for range 60 {
		w := h.load()
		if agent.RunMachine.Terminal(w.Run.State) {
			return
		}
		h.db.Clock.Step(20 * time.Second)
		for _, a := range w.Approvals {
			if a.State != approvals.Pending {
				continue
			}
			_, door := h.process("door", -1)
			_, err := door.Decide(h.t.Context(), decisions.Attempt{
				ID: fmt.Sprintf("d%d", h.rand.Int64()), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest,
				Verdict: approvals.Reject, Who: policy.Actor{Team: "T1", User: "M3"}, Via: "slack",
			})
			h.must(err)
		}
		h.db.Clock.Step(2 * time.Hour) // nobody else answers, and what M3 shaped is not theirs to reject
		_, door := h.process("sweeper", -1)
		h.must(door.ExpireDue(h.t.Context()))
		h.advance(-1)
	}
	h.failf("the run never ends: %+v", h.load().Run)
}

// judge holds the end of the story against the promises.
func (h *history) judge() {
	w := h.load()
	for _, s := range w.Steps {
		if !s.State.Settled() && s.State != agent.StepUncertain {
			h.failf("step %d is left %s", s.N, s.State)
		}
		h.judgeStep(&s)
	}
}

func (h *history) judgeStep(s *agent.Step) {
	calls, ok := h.calls[s.Tool]
	if !ok {
		return
	}
	var mine []call
	for _, c := range *calls {
		if c.run == h.run && c.step == strconv.Itoa(s.N) {
			mine = append(mine, c)
		}
	}
	tool, _ := h.gate.Tools.Get(s.Tool)
	spec := tool.Spec()
	if !spec.Effects {
		return
	}
	redeemed := h.redeemed(s)
	most := redeemed
	if spec.Risk != tools.High {
		most = 1 + redeemed
	}
	if spec.Idempotent {
		most *= 2 // once more, under the same key
	}
	if len(mine) > most {
		h.failf("step %d (%s) ran %d times on %d approvals", s.N, s.Tool, len(mine), redeemed)
	}
	for _, c := range mine {
		if s.Executed == nil || c.args != string(s.Executed) {
			h.failf("step %d ran %s, stored is %s", s.N, c.args, s.Executed)
		}
	}
}

// redeemed counts the step's approvals that were used up, and checks that each had
// its people and names the arguments that ran.
func (h *history) redeemed(s *agent.Step) int {
	n := 0
	for approval := s.Approval; approval != ""; {
		c, err := h.db.Case(h.t.Context(), approval)
		if err != nil {
			h.t.Fatal(err)
		}
		a := &c.Approval
		approval = a.Again
		if a.State != approvals.Redeemed {
			continue
		}
		n++
		r := a.Current()
		if a.Approvals() < r.Requirement.Quorum {
			h.failf("approval %s was redeemed with %d of %d", a.ID, a.Approvals(), r.Requirement.Quorum)
		}
		for _, d := range a.Decisions {
			// Of a MEDIUM call, which had no approvers, its asker says what became of it.
			if d.By.User == "U1" && a.Risk != tools.Medium {
				h.failf("the asker decided on %s", a.ID)
			}
		}
		if s.Executed != nil && string(r.Args) != string(s.Executed) {
			h.failf("approval %s is for %s, what ran is %s", a.ID, r.Args, s.Executed)
		}
	}
	return n
}
