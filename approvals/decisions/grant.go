package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/tools"
)

// Grants keeps standing grants. internal/store implements it.
type Grants interface {
	agent.Grants
	// Grant reads one standing grant: agent.ErrNotFound when there is none.
	Grant(ctx context.Context, id string) (*approvals.Grant, error)
	// StartGrant stores a grant: agent.ErrSettled when it is there already, ErrLocked when
	// its giver is locked, agent.ErrMoved when its card is no longer of that version.
	StartGrant(ctx context.Context, g approvals.Grant, card int64, wishes []agent.Wish, entries []audit.Entry) error
	// EndGrant writes the end of an open grant: agent.ErrSettled when it is not open.
	EndGrant(ctx context.Context, g approvals.Grant, wishes []agent.Wish, entries []audit.Entry) error
}

// GrantBounds are the most that a standing grant may be for. Zero: none is given.
type GrantBounds struct {
	Count  int
	Within time.Duration
}

// Giving is a person's try to give a standing grant on a card.
type Giving struct {
	Attempt          // Proved, Text, Who, Via; the approval and its revision
	Fields  []string // the arguments that must be equal; none: all
	Most    int
	For     time.Duration
}

// Give lets further calls like an approved one run without a card. It is a verdict on
// calls to come, so it enters here, by the rules of the card that it is given on.
func (d *Door) Give(ctx context.Context, t Giving) (Outcome, error) {
	person, err := d.Directory.Person(ctx, t.Who, true)
	if err != nil {
		return d.refuse(ctx, t.Attempt, nil, "cannot_check", "")
	}
	for range tries {
		if out, err := d.giveOnce(ctx, t, person); !errors.Is(err, agent.ErrMoved) {
			return out, err
		}
	}
	return Outcome{}, fmt.Errorf("give a standing grant on %s: too many people at once", t.Approval)
}

func (d *Door) giveOnce(ctx context.Context, t Giving, person policy.Person) (Outcome, error) {
	c, out, err := d.subject(ctx, t.Attempt)
	if c == nil {
		return out, err
	}
	if code, detail := d.objectionToGiving(t, c, person); code != "" {
		return d.refuse(ctx, t.Attempt, c, code, detail)
	}
	g := d.grant(t, c)
	e := d.grantEntry(&g, "grant.opened", t.Who, g.Via)
	e.Run, e.Step = c.Run.ID, c.Step.N
	err = d.Grants.StartGrant(ctx, g, c.Approval.Version, d.grantWishes(&g), []audit.Entry{e})
	switch {
	case errors.Is(err, agent.ErrSettled):
		return Outcome{Case: c}, nil // the same press, once more
	case errors.Is(err, ErrLocked):
		return d.refuse(ctx, t.Attempt, c, "locked", "")
	case err != nil:
		return Outcome{}, fmt.Errorf("give a standing grant on %s: %w", t.Approval, err)
	}
	return Outcome{Case: c}, nil
}

func (d *Door) objectionToGiving(t Giving, c *Case, person policy.Person) (code, detail string) {
	a := &c.Approval
	needs := a.Current().Requirement // as it will be for the next call: nobody has been called to it late
	r := needs.MayDecide(person, append(a.Requesters(), c.Run.Asker))
	switch {
	case d.Bounds.Count == 0 || !a.Grantable() || c.Step.Unknown():
		return "no_grant", ""
	case t.Revision != a.Revision || t.Digest != a.Current().Digest:
		return "stale", ""
	case r != nil:
		return r.Code, r.Role
	case needs.StepUp != "" && !t.Proved:
		return "code_needed", ""
	case t.Most < 1 || t.Most > d.Bounds.Count || t.For <= 0 || t.For > d.Bounds.Within:
		return "grant_bounds", ""
	case !names(a.Current().Args, t.Fields):
		return "grant_fields", ""
	}
	return "", ""
}

// names says that the arguments have all of these fields.
func names(args json.RawMessage, fields []string) bool {
	var have map[string]json.RawMessage
	if json.Unmarshal(args, &have) != nil {
		return false
	}
	return !slices.ContainsFunc(fields, func(f string) bool { _, ok := have[f]; return !ok })
}

func (d *Door) grant(t Giving, c *Case) approvals.Grant {
	a, now := &c.Approval, d.Now()
	r := a.Current()
	if t.Proved {
		t.Via += ", with a code"
	}
	return approvals.Grant{
		ID: "g" + tools.Digest("grant", t.ID)[:16], Installation: c.Run.Installation, Approval: a.ID, Channel: a.Channel, ThreadTS: a.ThreadTS,
		Tool: a.Tool, Contract: r.Contract, Policy: d.Gate.Policy().Stamp, Requirement: r.Requirement, Asker: c.Run.Asker, Args: r.Args, Fields: t.Fields,
		Giver: t.Who, Via: t.Via, Reason: t.Text, Most: t.Most, OpenedAt: now, EndsAt: now.Add(t.For), State: approvals.GrantOpen,
	}
}

func (d *Door) grantEntry(g *approvals.Grant, kind string, by policy.Actor, via string) audit.Entry {
	return audit.Entry{
		At: d.Now(), Kind: kind, Approval: g.Approval, Team: by.Team, User: by.User, Via: via, Data: d.data(map[string]any{
			"grant": g.ID, "tool": g.Tool, "arguments": string(g.Args), "equal": g.Fields, "giver": g.Giver.User, "most": g.Most, "used": g.Used,
			"until": g.EndsAt.UTC().Format(time.RFC3339), "reason": g.Reason, "why": g.Why,
		}),
	}
}

func (d *Door) grantWishes(g *approvals.Grant) []agent.Wish {
	now := d.Now()
	return append(agent.GrantWishes(g, d.Cards, now), agent.PeopleWish(&approvals.Approval{ID: g.Approval}, now))
}

// Revoke ends a standing grant: its giver, the asker, and whoever could have given it may.
func (d *Door) Revoke(ctx context.Context, t Attempt, grant string) (Outcome, error) {
	person, c, out, err := d.enter(ctx, t)
	if c == nil {
		return out, err
	}
	at := slices.IndexFunc(c.Approval.Grants, func(g approvals.Grant) bool { return g.ID == grant })
	if at < 0 {
		return d.refuse(ctx, t, c, "unknown", "")
	}
	g := c.Approval.Grants[at]
	if t.Who != g.Giver && t.Who != g.Asker {
		if r := g.Requirement.MayDecide(person, nil); r != nil {
			return d.refuse(ctx, t, c, r.Code, r.Role)
		}
	}
	g.State, g.By = approvals.GrantRevoked, t.Who
	err = d.endGrant(ctx, g, "grant.revoked", t.Via)
	if errors.Is(err, agent.ErrSettled) {
		return d.refuse(ctx, t, c, "grant_over", "")
	}
	return Outcome{Case: c}, err
}

func (d *Door) endGrant(ctx context.Context, g approvals.Grant, kind, via string) error {
	g.SettledAt = d.Now()
	return d.Grants.EndGrant(ctx, g, d.grantWishes(&g), []audit.Entry{d.grantEntry(&g, kind, g.By, via)})
}

// TendGrants ends the grants whose time is over, and those given under a policy or a
// contract that holds no longer. None of them could be used any more: this says so.
func (d *Door) TendGrants(ctx context.Context) error {
	return d.endThose(ctx, func(g *approvals.Grant) (approvals.GrantState, string) {
		tool, known := d.Gate.Tools.Get(g.Tool)
		switch {
		case !d.Now().Before(g.EndsAt):
			return approvals.GrantEnded, "time"
		case d.Bounds.Count == 0 || g.Policy != d.Gate.Policy().Stamp:
			return approvals.GrantVoid, "policy"
		case known && tools.Contract(tool.Spec()) != g.Contract:
			return approvals.GrantVoid, "contract"
		}
		return approvals.GrantOpen, ""
	})
}

// voidGrant ends a grant under which a call was made that nobody knows the outcome of,
// and nobody will: what it lets through next is for people to see. None: no grant.
func (d *Door) voidGrant(ctx context.Context, grant string) error {
	if grant == "" {
		return nil
	}
	return d.endThose(ctx, func(g *approvals.Grant) (approvals.GrantState, string) {
		if g.ID == grant {
			return approvals.GrantVoid, "unknown"
		}
		return approvals.GrantOpen, ""
	})
}

// voidGrants takes what a locked person gave.
func (d *Door) voidGrants(ctx context.Context, who policy.Actor) error {
	if d.Grants == nil {
		return nil
	}
	return d.endThose(ctx, func(g *approvals.Grant) (approvals.GrantState, string) {
		if g.Giver == who {
			return approvals.GrantVoid, "locked"
		}
		return approvals.GrantOpen, ""
	})
}

func (d *Door) endThose(ctx context.Context, end func(*approvals.Grant) (approvals.GrantState, string)) error {
	live, err := d.Grants.LiveGrants(ctx, "")
	if err != nil {
		return fmt.Errorf("read standing grants: %w", err)
	}
	for _, g := range live {
		to, why := end(&g)
		if to == approvals.GrantOpen {
			continue
		}
		g.State, g.Why = to, why
		if err := d.endGrant(ctx, g, "grant."+string(to), "scheduler"); err != nil && !errors.Is(err, agent.ErrSettled) {
			return fmt.Errorf("end the grant %s: %w", g.ID, err)
		}
	}
	return nil
}
