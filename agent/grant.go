package agent

import (
	"context"
	"errors"
	"time"

	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/tools"
)

// Grants reads standing grants; they are given elsewhere. internal/store implements it.
type Grants interface {
	// LiveGrants lists the open grants for a tool, or for all, the oldest first.
	LiveGrants(ctx context.Context, tool string) ([]approvals.Grant, error)
}

// ErrGrant says that a standing grant can no longer be used.
var ErrGrant = errors.New("the standing grant is over")

// GrantUse takes one call from a standing grant, in the commit that lets it execute.
type GrantUse struct {
	Step  int
	Grant string
}

// GrantWishes asks for the card on which a standing grant was given.
func GrantWishes(g *approvals.Grant, everywhere string, now time.Time) []Wish {
	return CardWishes(&approvals.Approval{ID: g.Approval, Channel: g.Channel, ThreadTS: g.ThreadTS}, everywhere, now)
}

// grantFor finds a standing grant for a call that would wait for people; nil when there
// is none. What cannot be looked up is no grant, and nobody repeats under one what may
// have happened already: that is on a card.
func (w *worker) grantFor(ctx context.Context, s *Step, p Passed) *approvals.Grant {
	if w.a.Grants == nil || p.Refusal != nil || p.Ruling.Outcome != policy.Ask || p.Ruling.Personal || UnknownBefore(w.steps, s.N, p.Spec.Name, p.Args) != 0 {
		return nil
	}
	live, err := w.a.Grants.LiveGrants(ctx, p.Spec.Name)
	if err != nil {
		w.log.WarnContext(ctx, "standing grants cannot be read, so people are asked", "error", err)
		return nil
	}
	call := approvals.Like{
		Tool: p.Spec.Name, Contract: p.Contract, Policy: w.a.Gate.Policy().Stamp, Channel: w.run.Channel, Asker: w.run.Asker,
		Args: p.Args, Needs: p.Ruling.Needs,
	}
	for i := range live {
		g := &live[i]
		if g.Installation == w.run.Installation && g.Covers(call, w.a.Now()) && w.mayStillGive(ctx, g) {
			return g
		}
	}
	return nil
}

// mayStillGive says that the giver could approve such a call of this run today.
func (w *worker) mayStillGive(ctx context.Context, g *approvals.Grant) bool {
	giver, err := w.a.Directory.Person(ctx, g.Giver, true)
	return err == nil && g.Requirement.MayDecide(giver, []policy.Actor{w.run.Requester(), w.run.Asker}) == nil
}

// underGrant executes a call that a standing grant covers. Everything is looked at
// once more; the grant is used in the commit that lets the call execute, and where it
// is over by then, people are asked after all.
func (w *worker) underGrant(ctx context.Context, s *Step) error {
	p, err := w.asNow(ctx, s, s.Proposed)
	if err != nil {
		return err
	}
	if p.Refusal != nil {
		return w.refuseNow(ctx, s, p.Refusal)
	}
	g := w.grantFor(ctx, s, p)
	if g == nil {
		return w.askAfterAll(ctx, s, p)
	}
	preview, failure := w.a.Gate.Preview(ctx, p.Tool, w.call(s, s.Proposed, nil))
	if failure != nil {
		return w.refuseNow(ctx, s, failure)
	}
	next := *s
	next.Executed, next.Grant, next.GrantBy, next.Contract = s.Proposed, g.ID, g.Giver, p.Contract
	now := w.a.Now()
	e := audit.Entry{
		At: now, Kind: "grant.used", Run: w.run.ID, Step: s.N, Approval: g.Approval, Team: g.Giver.Team, User: g.Giver.User, Via: "worker",
		Data: w.a.data(map[string]any{"grant": g.ID, "tool": s.Tool, "arguments": string(s.Proposed)}),
	}
	err = w.start(ctx, s, next, Change{Uses: []GrantUse{{Step: s.N, Grant: g.ID}}, Wishes: GrantWishes(g, w.a.Cards, now), Audit: []audit.Entry{e}}, preview)
	if errors.Is(err, ErrGrant) {
		return w.askAfterAll(ctx, s, p)
	}
	return err
}

// askAfterAll opens the card that a grant had made needless.
func (w *worker) askAfterAll(ctx context.Context, s *Step, p Passed) error {
	if p.Ruling = p.Ruling.AfterAll(); p.Ruling.Outcome == policy.Deny {
		return w.refuseNow(ctx, s, &tools.Failure{Code: "denied", Message: p.Ruling.Why})
	}
	next, c := *s, Change{MostOpen: w.a.OpenPerAsker}
	next.Grant, next.GrantBy = "", policy.Actor{}
	w.await(ctx, &next, p, &c)
	c.Steps = []StepChange{Moved(s, next)}
	if next.State == StepRefused {
		return w.refused(ctx, s, next, c)
	}
	err := w.commit(ctx, c, true)
	if errors.Is(err, ErrOpenLimit) {
		return w.refuseNow(ctx, s, &tools.Failure{Code: "too_many_open", Message: "too many calls of this person already wait for people"})
	}
	if err != nil {
		return err
	}
	*s = next
	w.open[c.Open[0].ID] = &c.Open[0]
	return nil
}

// refuseNow settles a call that was about to run.
func (w *worker) refuseNow(ctx context.Context, s *Step, f *tools.Failure) error {
	next := *s
	w.refuse(&next, f)
	return w.refused(ctx, s, next, Change{Steps: []StepChange{Moved(s, next)}})
}

func (w *worker) refused(ctx context.Context, s *Step, next Step, c Change) error {
	c.Audit = append(c.Audit, w.entry("step.ended", &next, map[string]any{"state": next.State, "code": next.Code}))
	*s = next
	if err := w.settle(&c); err != nil {
		return err
	}
	return w.commit(ctx, c, true)
}
