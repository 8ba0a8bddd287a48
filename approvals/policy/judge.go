package policy

import (
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
	Asker   Person
	Channel string
	Read    []string // private sources that the run has read
}

// Ruling is the policy's answer, with the reason in words.
type Ruling struct {
	Outcome Outcome
	Risk    tools.Risk
	Needs   Requirement
	Why     string
}

// Judge rules on one call.
func (p *Policy) Judge(q Question) Ruling {
	if why, ok := p.mayAsk(q); !ok {
		return Ruling{Outcome: NotAllowed, Risk: q.Spec.Risk, Why: why}
	}
	risk, why := q.Spec.Risk, "the tool's own risk is "+string(q.Spec.Risk)
	if q.Spec.Egress && len(q.Read) > 0 && risk != tools.High {
		risk, why = tools.High, "it sends data out and the run has read "+q.Read[0]
	}
	if risk != tools.High {
		return Ruling{Outcome: Run, Risk: risk, Why: why}
	}
	if len(p.Default.Approvers) == 0 {
		return Ruling{Outcome: Deny, Risk: risk, Why: "no approvers are configured (approvals.approvers), so nobody could countersign it"}
	}
	return Ruling{Outcome: Ask, Risk: risk, Needs: p.Default, Why: why}
}

func (p *Policy) mayAsk(q Question) (string, bool) {
	if len(q.Spec.Channels) > 0 && !slices.Contains(q.Spec.Channels, q.Channel) {
		return fmt.Sprintf("%s may not be used in this channel", q.Spec.Name), false
	}
	if len(q.Spec.Roles) == 0 || q.Asker.Has(q.Spec.Roles) || p.byChannel(q.Spec.Roles, q.Channel) {
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
	case Guest, Outsider, Bot, Deactivated:
		return &Refusal{Code: string(who.Standing)}
	default:
		return &Refusal{Code: string(Outsider)}
	}
	if !who.Has(r.Approvers) {
		return &Refusal{Code: "not_approver", Role: list(r.Approvers)}
	}
	if !r.SelfApproval && slices.Contains(requesters, who.Actor) {
		return &Refusal{Code: "requester"}
	}
	return nil
}

// Stricter joins two requirements so that neither is undercut: the higher quorum,
// the shorter time, and only approvers that both name. Where they name none in
// common, nobody can approve.
func Stricter(a, b Requirement) Requirement {
	out := a
	out.Approvers = nil
	for _, role := range a.Approvers {
		if slices.Contains(b.Approvers, role) {
			out.Approvers = append(out.Approvers, role)
		}
	}
	out.Quorum = max(a.Quorum, b.Quorum)
	out.TTL = shorter(a.TTL, b.TTL)
	out.SelfApproval = a.SelfApproval && b.SelfApproval
	out.EditApproves = a.EditApproves && b.EditApproves
	out.Confirm = a.Confirm || b.Confirm
	if a.StepUp == "" {
		out.StepUp = b.StepUp
	}
	if b.Rule != "" {
		out.Rule = b.Rule
	}
	return out
}

// Covers says that a is at least as strict as b in everything that people were shown.
func Covers(a, b Requirement) bool {
	joined := Stricter(a, b)
	return joined.Quorum == a.Quorum && len(joined.Approvers) == len(a.Approvers) && joined.SelfApproval == a.SelfApproval && joined.StepUp == a.StepUp
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
