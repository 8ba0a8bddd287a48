// Package policy decides who may run what and who may countersign it. It is
// pure: facts in, a ruling out.
package policy

import (
	"slices"
	"time"

	"countersign/tools"
)

// Actor is a person of Slack: the workspace and the user id, never a name.
type Actor struct {
	Team string
	User string
}

// Same says whether two may be one person. In all workspaces of an organisation people
// keep their id, so the id alone answers wherever two would be more than one.
func (a Actor) Same(b Actor) bool { return a.User == b.User }

// Zero says that there is nobody.
func (a Actor) Zero() bool { return a.User == "" }

// Standing is what kind of account a person has in our workspace.
type Standing string

// The standings. Only members ask and decide unless the configuration says more.
const (
	Member      Standing = "member"
	Guest       Standing = "guest"
	Outsider    Standing = "outsider" // another workspace
	Bot         Standing = "bot"
	Deactivated Standing = "deactivated"
	Service     Standing = "service" // a schedule, a hook, a program: it asks, and never decides
)

// Person is an actor with what Slack said of them just now.
type Person struct {
	Actor
	Name     string // decoration only
	Locale   string // "en-US", "zh-CN"
	Zone     string // IANA name of the person's time zone
	Standing Standing
	Roles    []string   // of the configuration, by user id and usergroup; of a guest by user id alone
	Most     tools.Risk // the highest risk of a tool that they may ask for; empty: any
}

// Has says whether the person holds one of the roles.
func (p Person) Has(roles []string) bool {
	return slices.ContainsFunc(p.Roles, func(r string) bool { return slices.Contains(roles, r) })
}

// Escalated is the requirement when nobody decided for a while: one of the further
// roles does as well. Everything else stays.
func (r Requirement) Escalated() Requirement {
	r.Approvers = slices.Clone(r.Approvers)
	for _, role := range r.Escalate {
		if !slices.Contains(r.Approvers, role) {
			r.Approvers = append(r.Approvers, role)
		}
	}
	return r
}

// Requirement is what must be met before a call may run.
type Requirement struct {
	Approvers    []string      `json:"approvers"`      // roles, one of which is needed; none: nobody can approve
	Also         [][]string    `json:"also,omitempty"` // and one of each of these too
	Quorum       int           `json:"quorum"`         // distinct people
	TTL          time.Duration `json:"ttl"`
	SelfApproval bool          `json:"self_approval,omitempty"`
	EditApproves bool          `json:"edit_approves,omitempty"`
	Confirm      bool          `json:"confirm,omitempty"`     // the button asks once more
	Batch        bool          `json:"batch,omitempty"`       // one press may decide it together with others of its turn
	StepUp       string        `json:"step_up,omitempty"`     // "" or totp
	Escalate     []string      `json:"escalate,omitempty"`    // roles that may decide too when nobody did for a while
	BreakGlass   []string      `json:"break_glass,omitempty"` // roles that may approve alone in an emergency
	Rule         string        `json:"rule,omitempty"`        // which rule said so
}
