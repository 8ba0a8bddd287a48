package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/store"
	"countersign/tools"
)

// step is one random thing that happens.
func (h *history) step() {
	h.answer = ""
	switch h.rand.IntN(10) {
	case 0, 1, 2:
		left := -1
		if h.rand.IntN(3) == 0 {
			left = 1 + h.rand.IntN(6)
		}
		h.advance(left)
	case 3, 4, 5:
		h.decide()
	case 6:
		h.say()
	case 7:
		h.settle()
	case 8:
		h.pass()
	case 9:
		h.give()
		h.note("a probe")
		h.must(h.door.ProbeDue(h.ctx))
	}
}

// meanwhile lets something happen while something else does: a call of the model or
// of a tool, a preview, a probe. So processes freeze, are taken over and come back,
// and verdicts fall between a check and its commit.
func (h *history) meanwhile() {
	if h.depth >= 2 || h.rand.IntN(6) > 0 {
		return
	}
	h.depth++
	h.note("meanwhile:")
	for range 1 + h.rand.IntN(4) {
		h.step()
	}
	h.depth--
}

// pass lets time pass: seconds, enough for a lease to run out, or hours.
func (h *history) pass() {
	switch h.rand.IntN(12) {
	case 0:
		h.world++ // what previews show is different from now on
		h.note("the world changes")
	case 2, 3:
		if h.depth == 0 { // not between the last look and the call, where nothing could tell
			h.place++
			h.note("the tools act elsewhere from now on")
		}
	case 1:
		h.db.Clock.Step(2 * time.Hour)
		h.note("two hours pass")
		h.must(h.door.ExpireDue(h.ctx))
	default:
		d := time.Duration(h.rand.IntN(30)) * time.Second
		h.db.Clock.Step(d)
		h.note("%s pass", d)
	}
}

func (h *history) advance(left int) {
	r := h.replica(left)
	h.note("%s advances, dying after %d commits", r.Owner, left)
	r.busy = true
	due := h.due()
	if h.depth == 0 {
		h.db.Bell.Take()
	}
	h.answer = ""
	err := r.Advance(h.ctx, h.run)
	r.busy, h.answer = false, ""
	if err != nil && !errors.Is(err, errDied) && !errors.Is(err, store.ErrUnavailable) { // both are deaths
		h.failf("advance: %v", err)
	}
	h.rung("a worker", due && err == nil) // it may have given the run back as due as it was
}

// due says whether a claim would find the run: it is the only one that has not ended.
func (h *history) due() bool {
	runs, err := h.db.Due(h.ctx, h.db.Clock.Now(), 1)
	h.must(err)
	return len(runs) > 0
}

// rings does something that may give the run work, which must ring it then and there.
func (h *history) rings(what string, do func()) {
	if h.depth > 0 {
		do()
		return
	}
	before, now := h.due(), h.db.Clock.Now()
	h.db.Bell.Take()
	do()
	if h.db.Clock.Now().Equal(now) {
		h.rung(what, before)
	}
}

// rung checks that a run which became due was rung: nobody should have to sweep it up.
func (h *history) rung(what string, before bool) {
	if !before && h.depth == 0 && h.due() && !slices.Contains(h.db.Bell.Take(), h.run) {
		w := h.load()
		if w.Run.ReadyAt.Before(h.db.Clock.Now()) || w.Run.Lease.Owner != "" {
			return // it was left for later, or by a death: the sweep's
		}
		h.failf("%s gave the run work and did not ring: wake %d, seen %d, %s", what, w.Run.Wake, w.Run.Seen, w.Run.State)
	}
}

var deciders = []string{"U1", "M1", "M1", "M1", "M2", "M2", "M2", "M3", "M3", "OUT", "NOBODY"}

var verdicts = []approvals.Verdict{
	approvals.Approve, approvals.Approve, approvals.Approve, approvals.Approve, approvals.Approve, approvals.Reject, approvals.Edit, approvals.Respond,
}

// decide lets somebody try a verdict on some approval, sometimes on an old digest.
func (h *history) decide() {
	w := h.load()
	for _, name := range sorted(w.Approvals) {
		a := w.Approvals[name]
		if h.rand.IntN(3) == 0 {
			continue
		}
		r := a.Current()
		t := decisions.Attempt{
			ID: fmt.Sprintf("d%d", h.rand.Int64()), Approval: a.ID, Revision: r.N, Digest: r.Digest, Via: "slack", Text: "because",
			Who: policy.Actor{Team: "T1", User: deciders[h.rand.IntN(len(deciders))]}, Verdict: verdicts[h.rand.IntN(len(verdicts))],
			Args: fmt.Sprintf(`{"what":"edited %d"}`, h.rand.IntN(3)),
		}
		if h.rand.IntN(6) == 0 {
			t.Digest = "stale"
		}
		t.Glass, t.Proved = h.rand.IntN(8) == 0, h.rand.IntN(4) > 0
		h.try(a, t)
	}
}

func sorted(open map[string]*approvals.Approval) []string {
	var out []string
	for name := range open {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// try makes an attempt and remembers to what somebody said yes: what they were shown.
func (h *history) try(a *approvals.Approval, t decisions.Attempt) {
	shown := *a.Current()
	var out decisions.Outcome
	h.rings("a verdict", func() {
		var err error
		out, err = h.door.Decide(h.ctx, t)
		h.must(err)
	})
	h.note("%s tries %s on %s/%d: %q", t.Who.User, t.Verdict, a.ID, t.Revision, out.Refused)
	if out.Refused != "" {
		return
	}
	if t.Digest == "stale" || t.Who.User == "U1" || t.Who.User == "OUT" || t.Who.User == "NOBODY" {
		h.failf("%s may not decide on this", t.Who.User)
	}
	if t.Glass && (t.Who.User != "M3" || !t.Proved || t.Verdict != approvals.Approve) {
		h.failf("%s broke the glass, with a code: %v", t.Who.User, t.Proved)
	}
	if hand, _ := h.gate.Tools.Get(a.Tool); tools.Contract(hand.Spec()) != shown.Contract && (t.Verdict == approvals.Approve || t.Verdict == approvals.Edit) {
		h.failf("%s on %s counted for another tool", t.Verdict, a.ID)
	}
	switch t.Verdict {
	case approvals.Approve:
		h.agree(a.Step, a.Tool, shown.Contract, string(shown.Args))
	case approvals.Edit:
		h.agree(a.Step, a.Tool, shown.Contract, t.Args)
	}
}

// give lets somebody try to give a standing grant on the card of some step, or to take
// one back; what it is for is what they say yes to.
func (h *history) give() {
	for _, s := range h.load().Steps {
		if s.Approval == "" || h.rand.IntN(3) == 0 {
			continue
		}
		c, err := h.db.Case(h.ctx, s.Approval)
		h.must(err)
		a := &c.Approval
		t := decisions.Attempt{
			ID: fmt.Sprintf("g%d", h.rand.Int64()), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Via: "slack", Proved: true,
			Who: policy.Actor{Team: "T1", User: deciders[h.rand.IntN(len(deciders))]},
		}
		if n := len(a.Grants); n > 0 && h.rand.IntN(3) == 0 {
			_, err := h.door.Revoke(h.ctx, t, a.Grants[n-1].ID)
			h.must(err)
			continue
		}
		out, err := h.door.Give(h.ctx, decisions.Giving{Attempt: t, Most: 1 + h.rand.IntN(3), For: 12 * time.Hour})
		h.must(err)
		h.note("%s gives a grant on %s: %q", t.Who.User, a.ID, out.Refused)
		if out.Refused == "" && (t.Who.User == "U1" || t.Who.User == "OUT" || t.Who.User == "NOBODY" || a.State != approvals.Approved && a.State != approvals.Redeemed) {
			h.failf("%s gave a grant on %s, which is %s", t.Who.User, a.ID, a.State)
		}
	}
}

func (h *history) agree(step int, tool, contract, args string) {
	n := strconv.Itoa(step)
	t, _ := h.gate.Tools.Get(tool)
	for place := range h.place + 1 {
		if tools.Contract(t.(hand).at(place)) == contract {
			h.agreed[n] = append(h.agreed[n], done(args, place))
		}
	}
}

// done is a call with these arguments at a place.
func done(args string, place int) string { return fmt.Sprintf("%s at %d", args, place) }

func (h *history) say() {
	kind := []agent.MessageKind{agent.FollowUp, agent.FollowUp, agent.FollowUp, agent.Continue, agent.Continue, agent.Stop}[h.rand.IntN(6)]
	if kind == agent.Stop && h.rand.IntN(4) > 0 {
		return
	}
	from := policy.Actor{Team: "T1", User: []string{"U1", "M1"}[h.rand.IntN(2)]}
	h.note("%s says %s", from.User, kind)
	h.rings("a message", func() {
		err := h.replica(-1).Tell(h.ctx, agent.Message{Run: h.run, Kind: kind, From: from, Text: "more"}, fmt.Sprintf("k%d", h.rand.Int64()))
		if err != nil && !errors.Is(err, agent.ErrSettled) {
			h.failf("tell: %v", err)
		}
	})
}

// settle lets somebody say what became of an uncertain step.
func (h *history) settle() {
	for _, s := range h.load().Steps {
		if s.State != agent.StepUncertain {
			continue
		}
		f := []decisions.Finding{decisions.Happened, decisions.RunAgain, decisions.RunAgain, decisions.RunAgain, decisions.RunAgain, decisions.GiveUp}[h.rand.IntN(6)]
		who := policy.Actor{Team: "T1", User: deciders[h.rand.IntN(len(deciders))]}
		var out decisions.Outcome
		h.rings("a finding", func() {
			var err error
			out, err = h.door.Settle(h.ctx, decisions.Settlement{
				ID: fmt.Sprintf("f%d", h.rand.Int64()), Run: h.run, Step: s.N, Finding: f, Who: who, Via: "slack",
			})
			h.must(err)
		})
		h.note("%s says of step %d: %s: %q", who.User, s.N, f, out.Refused)
		if f == decisions.RunAgain && out.Refused == "" {
			h.agree(s.N, s.Tool, s.Contract, string(s.Executed))
		}
	}
}

// drain lets the story come to its end: everybody answers, every lease runs out.
func (h *history) drain() {
	for range 80 {
		w := h.load()
		if agent.RunMachine.Terminal(w.Run.State) || h.broken {
			return
		}
		h.db.Clock.Step(20 * time.Second)
		for _, name := range sorted(w.Approvals) {
			a := w.Approvals[name]
			if a.State == approvals.Pending {
				h.try(a, decisions.Attempt{
					ID: fmt.Sprintf("d%d", h.rand.Int64()), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest,
					Verdict: approvals.Reject, Who: policy.Actor{Team: "T1", User: "M3"}, Via: "slack",
				})
			}
		}
		h.db.Clock.Step(2 * time.Hour) // nobody else answers, and what M3 shaped is not theirs to reject
		h.must(h.door.ExpireDue(h.ctx))
		h.advance(-1)
	}
	h.failf("the run never ends: %+v", h.load().Run)
}
