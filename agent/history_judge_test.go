package agent_test

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/audit"
	"countersign/internal/store"
	"countersign/tools"
)

// watched is the database: every change that it takes must follow the tables.
type watched struct {
	*store.Store
	h *history
}

func (w watched) Commit(ctx context.Context, f agent.Fence, c agent.Change) (int64, error) {
	wake, err := w.Store.Commit(ctx, f, c)
	if err != nil {
		return wake, err
	}
	w.h.moved(c.Steps)
	for _, a := range c.Approvals {
		w.h.along("approval", string(a.From), string(a.To))
	}
	if c.Run != nil {
		if !reachable(w.h.state, c.Run.State) {
			w.h.failf("the run went from %s to %s", w.h.state, c.Run.State)
		}
		w.h.state = c.Run.State
	}
	return wake, nil
}

func (w watched) Record(ctx context.Context, c decisions.Change) error {
	err := w.Store.Record(ctx, c)
	if err == nil {
		w.h.moved(c.Steps)
		if c.Approval != "" {
			w.h.along("approval", string(c.From), string(c.To))
		}
	}
	return err
}

func (h *history) moved(steps []agent.StepChange) {
	for _, s := range steps {
		from, to := s.From, s.Step.State
		if to == from && (from == agent.StepUncertain || from == agent.StepAwaiting) {
			continue // a further card is named
		}
		if from == agent.StepAllowed && !s.Step.Effects && s.Step.Attempts > 0 {
			from = agent.StepExecuting // a read is committed with its result alone
		}
		h.along("step", string(from), string(to))
	}
}

func (h *history) along(what, from, to string) {
	if !h.edges[what+" "+from+" "+to] {
		h.failf("%s went from %s to %s", what, from, to)
	}
}

// edges are the arrows of the tables of steps and approvals.
func edges() map[string]bool {
	out := map[string]bool{}
	for _, e := range agent.StepMachine.Edges {
		out["step "+string(e.From)+" "+string(e.To)] = true
	}
	for _, e := range approvals.Machine.Edges {
		out["approval "+string(e.From)+" "+string(e.To)] = true
	}
	return out
}

// reachable says whether a run gets from one state to another in one commit, which
// may take it along up to four arrows.
func reachable(from, to agent.RunState) bool {
	at := []agent.RunState{from}
	for range 4 {
		for _, e := range agent.RunMachine.Edges {
			if slices.Contains(at, e.From) && !slices.Contains(at, e.To) {
				at = append(at, e.To)
			}
		}
	}
	return slices.Contains(at, to)
}

// load reads the run and holds it against what was read before: what was used is not
// given back, and what has its result keeps it.
func (h *history) load() *agent.Work {
	w, err := h.db.Load(h.ctx, h.run)
	if err != nil {
		h.t.Error(err)
		return &agent.Work{}
	}
	if h.last != nil {
		h.compare(h.last, w)
	}
	h.last = w
	return w
}

func (h *history) compare(before, now *agent.Work) {
	a, b := before.Run, now.Run
	for name, shrank := range map[string]bool{
		"steps": b.Spent.Steps < a.Spent.Steps, "calls": b.Spent.Calls < a.Spent.Calls, "prompt": b.Spent.Prompt < a.Spent.Prompt,
		"completion": b.Spent.Completion < a.Spent.Completion, "active": b.Spent.Active < a.Spent.Active, "turns": b.Turns < a.Turns,
		"next step": b.NextStep < a.NextStep, "wake": b.Wake < a.Wake, "seen": b.Seen < a.Seen || b.Seen > b.Wake,
		"epoch": b.Lease.Epoch < a.Lease.Epoch, "rows": len(now.Steps) < len(before.Steps) || len(now.Turns) < len(before.Turns),
		"limits": b.Limits.MaxSteps < a.Limits.MaxSteps,
	} {
		if shrank {
			h.failf("%s went back:\n%+v\n%+v", name, a, b)
		}
	}
	for i := range min(len(before.Steps), len(now.Steps)) {
		a, b := before.Steps[i], now.Steps[i]
		if a.State.Settled() && (b.State != a.State || b.Observation != a.Observation || string(b.Executed) != string(a.Executed)) {
			h.failf("the result of step %d changed:\n%+v\n%+v", a.N, a, b)
		}
	}
}

// judge holds the end of the story against the promises.
func (h *history) judge(entries []audit.Entry) {
	w := h.load()
	for i := range w.Steps {
		s := &w.Steps[i]
		if !s.State.Settled() && s.State != agent.StepUncertain {
			h.failf("step %d is left %s", s.N, s.State)
		}
		h.judgeStep(s)
	}
	h.judgeRecord(entries)
}

func (h *history) judgeStep(s *agent.Step) {
	tool, ok := h.gate.Tools.Get(s.Tool)
	if !ok || !tool.Spec().Effects {
		return
	}
	spec, name := tool.Spec(), strconv.Itoa(s.N)
	mine := h.calls[name]
	redeemed := h.redeemed(s) + h.underGrant(s)
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
		if spec.Risk == tools.High && !slices.Contains(h.agreed[name], done(c.args, c.place)) {
			h.failf("step %d ran %s, people said yes to %v", s.N, done(c.args, c.place), h.agreed[name])
		}
	}
	happened := len(mine) > 0 && mine[len(mine)-1].happened
	if s.Code == "not_happened" && happened || strings.Contains(s.Effect, "confirmed by its service") && !happened {
		h.failf("the probe settled step %d as %s (%s), and it happened: %v", s.N, s.State, s.Code, happened)
	}
}

// underGrant says whether a standing grant let the step run: 1 or 0. It is for these
// arguments, which people saw on its card, and was not used more often than it may be.
func (h *history) underGrant(s *agent.Step) int {
	if s.Grant == "" || s.Executed == nil {
		return 0
	}
	g, err := h.db.Grant(h.ctx, s.Grant)
	if err != nil || g.Used > g.Most || string(g.Args) != string(s.Executed) || g.Giver != s.GrantBy {
		h.failf("step %d ran %s under %+v, %v", s.N, s.Executed, g, err)
		return 0
	}
	h.agree(s.N, g.Tool, g.Contract, string(g.Args))
	return 1
}

// redeemed counts the step's approvals that were used up, and checks that each had
// its people and names the arguments that ran.
func (h *history) redeemed(s *agent.Step) int {
	n := 0
	for approval := s.Approval; approval != ""; {
		c, err := h.db.Case(h.ctx, approval)
		if err != nil {
			h.failf("read %s: %v", approval, err)
			return n
		}
		a := &c.Approval
		approval = a.Again
		if a.State != approvals.Redeemed {
			continue
		}
		n++
		r := a.Current()
		if !a.Enough() {
			h.failf("approval %s was redeemed with %d of %d", a.ID, a.Approvals(), r.Requirement.Quorum)
		}
		for _, d := range a.Decisions {
			// Of a MEDIUM call, which had no approvers, its asker says what became of it.
			if d.By.User == "U1" && a.Risk != tools.Medium {
				h.failf("the asker decided on %s", a.ID)
			}
		}
		if digest, err := a.Seal(*r); err != nil || digest != r.Digest || s.Executed != nil && string(r.Args) != string(s.Executed) {
			h.failf("approval %s is for %s, what ran is %s (%v)", a.ID, r.Args, s.Executed, err)
		}
	}
	return n
}

// judgeRecord replays the record: every approval has one outcome, by the table, and it
// is the one that is stored.
func (h *history) judgeRecord(entries []audit.Entry) {
	at := map[string]approvals.State{}
	for _, e := range entries {
		on, ok := strings.CutPrefix(e.Kind, "approval.")
		if !ok {
			continue
		}
		switch on {
		case "opened":
			at[e.Approval] = approvals.Pending
			continue
		case "extended", "claimed", "reminded", "escalated":
			continue
		case "edit":
			if strings.Contains(e.Data, `"settled":true`) {
				on = "approve"
			}
		case "redeemed", "lapsed", "cancelled", "glass":
			on = map[string]string{"glass": "approve", "redeemed": "redeem", "lapsed": "lapse", "cancelled": "cancel"}[on]
		}
		to, err := approvals.Machine.Fire(at[e.Approval], on)
		if err != nil {
			h.failf("the record of %s: %v", e.Approval, err)
		}
		at[e.Approval] = to
	}
	for approval, state := range at {
		c, err := h.db.Case(h.ctx, approval)
		if err != nil || c.Approval.State != state || c.Approval.Open() {
			h.failf("approval %s is recorded as %s, stored is %+v (%v)", approval, state, c, err)
		}
	}
}
