package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"countersign/tools"
)

// Outcome is what the policy says of a call.
type Outcome string

// The four outcomes.
const (
	Run        Outcome = "run"
	Ask        Outcome = "ask"
	Deny       Outcome = "deny"
	NotAllowed Outcome = "not_allowed" // this person may not even ask
)

// Policy is the configured policy as data.
type Policy struct {
	Roles   map[string]Role
	Default Requirement
	Rules   *Rules // nil: none
	Stamp   string // of what it was made from: another one means that the policy changed
}

// Role is who holds a role. By channel it lets people ask, never approve.
type Role struct {
	Users      []string
	Usergroups []string
	Channels   []string
}

// Question is one proposed call.
type Question struct {
	Spec    tools.Spec
	Args    json.RawMessage // canonical
	Asker   Person
	Channel string
	Read    []string // private sources that the run has read
}

// Ruling is the policy's answer, with the reason in words.
type Ruling struct {
	Outcome Outcome
	Risk    tools.Risk
	Needs   Requirement
	// Personal says that people must look at this very call: no standing grant covers it.
	Personal bool
	Budget   *Budget // of a lowered risk: it runs only when this can be paid
	Why      string
	pair     bool        // the rule names the tool and looks at what was read
	asks     Requirement // if people have to be asked after all: of the rule, or of what stands below one that lowers the risk
	denies   string      // why what stands below a rule that lowers the risk lets nobody be asked
}

// Judge rules on one call: who may ask at all, then the rules, then what leaves
// the house after a private read.
func (p *Policy) Judge(q Question) Ruling {
	if why, ok := p.mayAsk(q); !ok {
		return Ruling{Outcome: NotAllowed, Risk: q.Spec.Risk, Why: why}
	}
	r := p.ruled(&q)
	if r.Outcome == Deny {
		return r
	}
	if r.Outcome == Run && q.Spec.Egress && len(q.Read) > 0 && !r.pair {
		r = r.asking("it sends data out and the run has read " + q.Read[0])
	}
	if q.Spec.Egress && len(q.Read) > 0 {
		r.Personal = true // a rule may say who decides, but not that nobody looks
	}
	return r.byPeople()
}

// byPeople denies what nobody could countersign.
func (r Ruling) byPeople() Ruling {
	if r.Outcome == Ask && len(r.Needs.Approvers) == 0 {
		return Ruling{Outcome: Deny, Risk: r.Risk, Why: "no approvers are configured (approvals.approvers), so nobody could countersign it"}
	}
	return r
}

// ruled applies the first rule that matches. One that cannot be evaluated makes
// the call HIGH with the strictest of everything that may apply.
func (p *Policy) ruled(q *Question) Ruling {
	plain := outcome(q.Spec.Risk, p.Default, "the tool's own risk is "+string(q.Spec.Risk))
	if p.Rules == nil {
		return plain
	}
	facts, err := q.facts()
	if err != nil {
		return p.strictest(q, 0, nil, err)
	}
	return p.ruledFrom(q, 0, facts, plain)
}

// ruledFrom applies the first rule from one on that matches.
func (p *Policy) ruledFrom(q *Question, from int, facts map[string]any, plain Ruling) Ruling {
	for i := from; i < len(p.Rules.list); i++ {
		c := &p.Rules.list[i]
		switch v, err := c.matches(q, facts); v {
		case yes:
			return p.matched(q, i, facts, plain)
		case broken:
			return p.strictest(q, i, facts, err)
		}
	}
	return plain
}

func outcome(risk tools.Risk, needs Requirement, why string) Ruling {
	if risk == tools.High {
		return Ruling{Outcome: Ask, Risk: risk, Needs: needs, Why: why, asks: needs}
	}
	return Ruling{Outcome: Run, Risk: risk, Why: why, asks: needs}
}

func (p *Policy) matched(q *Question, i int, facts map[string]any, plain Ruling) Ruling {
	c := &p.Rules.list[i]
	if c.Deny != "" {
		return Ruling{Outcome: Deny, Risk: q.Spec.Risk, Why: c.Deny + " (" + c.Name + ")"}
	}
	risk := q.Spec.Risk
	if c.Risk != "" {
		risk = c.Risk
	}
	r := outcome(risk, c.apply(p.Default), c.Name+" applies")
	r.Needs.Rule, r.pair = c.Name, c.Tool != "" && c.reads.run
	if rank(risk) >= rank(q.Spec.Risk) {
		return r
	}
	below := p.ruledFrom(q, i+1, facts, plain)
	r.asks, r.denies = below.asks, below.denies
	if below.Outcome == Deny {
		r.asks, r.denies = p.Default, below.Why
	}
	budget, err := c.budget(q, facts)
	if err != nil || budget == nil {
		return r.asking(fmt.Sprintf("%s lowers the risk but cannot be counted: %v", c.Name, err))
	}
	r.Budget = budget
	return r
}

// asking is the ruling when people have to look at a call that would have run: it is what
// stands below the rule that let it, so that such a rule never asks for less than none.
func (r Ruling) asking(why string) Ruling {
	if r.denies != "" {
		return Ruling{Outcome: Deny, Risk: tools.High, Why: r.denies}
	}
	return Ruling{Outcome: Ask, Risk: tools.High, Needs: r.asks, Personal: true, Why: why, asks: r.asks}.byPeople()
}

func rank(r tools.Risk) int {
	return slices.Index([]tools.Risk{tools.Low, tools.Medium, tools.High}, r)
}

// strictest joins the default with every rule from a broken one on that matches or
// cannot be evaluated either.
func (p *Policy) strictest(q *Question, from int, facts map[string]any, cause error) Ruling {
	needs := p.Default
	why := fmt.Sprintf("%s cannot be evaluated (%v), so the strictest requirement holds", p.Rules.list[from].Name, cause)
	for i := from; i < len(p.Rules.list); i++ {
		c := &p.Rules.list[i]
		if v, _ := c.matches(q, facts); v == no {
			continue
		}
		if c.Deny != "" {
			return Ruling{Outcome: Deny, Risk: tools.High, Why: c.Deny + " (" + c.Name + ")"}
		}
		needs = Stricter(needs, c.apply(p.Default))
	}
	return Ruling{Outcome: Ask, Risk: tools.High, Needs: needs, Personal: true, Why: why, asks: needs}
}

// AfterAll is what a call needs that nobody had to look at, when somebody has to: its
// rule's budget is used up, or what let it run is over.
func (r Ruling) AfterAll() Ruling {
	if r.Outcome != Run {
		return r
	}
	why := "people are asked after all"
	if b := r.Budget; b != nil {
		why = fmt.Sprintf("%s is used up: at most %d in %s", r.Needs.Rule, b.Count, b.Within)
	}
	return r.asking(why)
}

func (p *Policy) mayAsk(q Question) (string, bool) {
	switch s := q.Asker.Standing; s {
	case Member, Service:
	case "":
		return "whoever asked is not known any more, so nothing is done in their name", false
	default:
		return fmt.Sprintf("the person who asked is not a full member of this workspace any more (%s), so nothing is done in their name", s), false
	}
	if len(q.Spec.Channels) > 0 && !slices.Contains(q.Spec.Channels, q.Channel) {
		return fmt.Sprintf("%s may not be used in this channel", q.Spec.Name), false
	}
	if most := q.Asker.Most; most != "" && rank(q.Spec.Risk) > rank(most) {
		return fmt.Sprintf("%s may ask for tools of %s risk alone; give it roles in the configuration to let it ask for more", q.Asker.User, most), false
	}
	if len(q.Spec.Roles) == 0 || q.Asker.Has(q.Spec.Roles) || q.Asker.Standing != Service && p.byChannel(q.Spec.Roles, q.Channel) {
		return "", true
	}
	return fmt.Sprintf("%s may be asked for only by people with the role %s", q.Spec.Name, list(q.Spec.Roles)), false
}

func (p *Policy) byChannel(roles []string, channel string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(p.Roles[r].Channels, channel) })
}

// RolesOf lists the roles that a person holds by user id or usergroup.
func (p *Policy) RolesOf(user string, groups []string) []string {
	var out []string
	for name, r := range p.Roles {
		in := slices.Contains(r.Users, user) || slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(r.Usergroups, g) })
		if in {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Usergroups lists every usergroup that some role names.
func (p *Policy) Usergroups() []string {
	var out []string
	for _, r := range p.Roles {
		for _, g := range r.Usergroups {
			if !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Refusal is why a person's decision does not count: a key of the message
// catalogue with the values it needs.
type Refusal struct {
	Code string // outsider, guest, bot, deactivated, requester, not_approver
	Role string // the roles that would do
}

// MayDecide says whether a person may countersign, nil when so. Requesters are
// everybody whose words or edits shaped the call.
func (r Requirement) MayDecide(who Person, requesters []Actor) *Refusal {
	switch who.Standing {
	case Member:
	case Guest:
		if !who.Has(r.Approvers) { // only one that the configuration names by id has any
			return &Refusal{Code: string(Guest)}
		}
	case Outsider, Bot, Deactivated:
		return &Refusal{Code: string(who.Standing)}
	default:
		return &Refusal{Code: string(Outsider)}
	}
	for _, roles := range append([][]string{r.Approvers}, r.Also...) {
		if !who.Has(roles) {
			return &Refusal{Code: "not_approver", Role: list(roles)}
		}
	}
	if !r.SelfApproval && slices.ContainsFunc(requesters, who.Same) {
		return &Refusal{Code: "requester"}
	}
	return nil
}

// MayBreakGlass says whether a person may approve alone in an emergency, nil when so.
// Being the requester is no less of a reason against it than otherwise.
func (r Requirement) MayBreakGlass(who Person, requesters []Actor) *Refusal {
	if len(r.BreakGlass) == 0 {
		return &Refusal{Code: "no_glass"}
	}
	r.Approvers, r.Also = r.BreakGlass, nil
	return r.MayDecide(who, requesters)
}

// Stricter joins two requirements so that neither is undercut: the higher quorum,
// the shorter time, and approvers who satisfy both.
func Stricter(a, b Requirement) Requirement {
	out := a
	out.Also = slices.Clone(a.Also)
	for _, roles := range append([][]string{b.Approvers}, b.Also...) {
		out.narrow(roles)
	}
	out.Quorum = max(a.Quorum, b.Quorum)
	out.TTL = shorter(a.TTL, b.TTL)
	out.SelfApproval = a.SelfApproval && b.SelfApproval
	out.EditApproves = a.EditApproves && b.EditApproves
	out.Confirm = a.Confirm || b.Confirm
	out.Batch = a.Batch && b.Batch
	out.Escalate, out.BreakGlass = common(a.Escalate, b.Escalate), common(a.BreakGlass, b.BreakGlass)
	if a.StepUp == "" {
		out.StepUp = b.StepUp
	}
	if b.Rule != "" {
		out.Rule = b.Rule
	}
	return out
}

// common are the roles that stand in both; nil when there is none.
func common(a, b []string) []string {
	var out []string
	for _, role := range a {
		if slices.Contains(b, role) {
			out = append(out, role)
		}
	}
	return out
}

// narrow asks for one of the roles too. What is already implied adds nothing.
func (r *Requirement) narrow(roles []string) {
	switch {
	case implies(r.Approvers, roles) || slices.ContainsFunc(r.Also, func(g []string) bool { return implies(g, roles) }):
	case implies(roles, r.Approvers):
		r.Approvers = slices.Clone(roles)
	default:
		r.Also = append(r.Also, slices.Clone(roles))
	}
}

// implies says that who has one of these roles has one of those.
func implies(these, those []string) bool {
	return !slices.ContainsFunc(these, func(role string) bool { return !slices.Contains(those, role) })
}

// Covers says that a is at least as strict as b in everything that people were shown.
func Covers(a, b Requirement) bool {
	j := Stricter(a, b)
	return j.Quorum == a.Quorum && j.Confirm == a.Confirm && slices.Equal(j.Approvers, a.Approvers) && len(j.Also) == len(a.Also) &&
		j.SelfApproval == a.SelfApproval && j.EditApproves == a.EditApproves && j.Batch == a.Batch && j.StepUp == a.StepUp && len(j.Escalate) == len(a.Escalate) && len(j.BreakGlass) == len(a.BreakGlass)
}

// SamePeople says that exactly the same people may decide both.
func SamePeople(a, b Requirement) bool {
	return slices.Equal(a.Approvers, b.Approvers) && slices.Equal(a.Escalate, b.Escalate) && a.SelfApproval == b.SelfApproval &&
		slices.EqualFunc(a.Also, b.Also, slices.Equal)
}

func shorter(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

func list(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += " or "
		}
		out += w
	}
	return out
}
