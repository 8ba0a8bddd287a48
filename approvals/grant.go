package approvals

import (
	"bytes"
	"encoding/json"
	"time"

	"countersign/approvals/policy"
)

// GrantState is where a standing grant is in its life. It is left once.
type GrantState string

// The states of a standing grant.
const (
	GrantOpen    GrantState = "open"
	GrantEnded   GrantState = "ended" // used up, or its time is over
	GrantRevoked GrantState = "revoked"
	GrantVoid    GrantState = "void" // what it was given under is no longer so
)

// Grant lets further calls like one that was approved run without a card: of the same
// asker, in the same channel, with the same tool, requirement and named arguments.
type Grant struct {
	ID           string
	Installation string
	Approval     string // on whose card it was given
	Channel      string
	ThreadTS     string
	Tool         string
	Contract     string             // of the tool
	Policy       string             // the stamp of the policy that held
	Requirement  policy.Requirement // that the card showed
	Asker        policy.Actor       // of whose runs
	Args         json.RawMessage    // canonical, of the call that was approved
	Fields       []string           // the arguments that must be equal; none: all of them, and no others
	Giver        policy.Actor
	Via          string
	Reason       string
	Most         int // calls
	Used         int
	OpenedAt     time.Time
	EndsAt       time.Time
	State        GrantState
	Why          string       // of its end
	By           policy.Actor // who revoked it
	SettledAt    time.Time
}

// Like is a call that may be covered by a grant.
type Like struct {
	Tool     string
	Contract string
	Policy   string
	Channel  string
	Asker    policy.Actor
	Args     json.RawMessage
	Needs    policy.Requirement
}

// Covers says whether the grant is for a call like this, now. Whether it may still be
// used is counted in the database.
func (g *Grant) Covers(c Like, now time.Time) bool {
	return g.State == GrantOpen && g.Used < g.Most && now.Before(g.EndsAt) && g.Tool == c.Tool && g.Contract == c.Contract &&
		g.Policy == c.Policy && g.Channel == c.Channel && g.Asker == c.Asker && same(g.Requirement, c.Needs) && g.equal(c.Args)
}

// same says that two requirements are the same in everything.
func same(a, b policy.Requirement) bool {
	x, err := json.Marshal(a)
	y, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(x, y)
}

// equal holds the named arguments against those of a call; both are canonical.
func (g *Grant) equal(args json.RawMessage) bool {
	if len(g.Fields) == 0 {
		return bytes.Equal(g.Args, args)
	}
	var mine, theirs map[string]json.RawMessage
	if json.Unmarshal(g.Args, &mine) != nil || json.Unmarshal(args, &theirs) != nil {
		return false
	}
	for _, name := range g.Fields {
		value, there := mine[name]
		other, given := theirs[name]
		if !there || !given || !bytes.Equal(value, other) {
			return false
		}
	}
	return true
}

// Grantable says whether a standing grant may be given on this card: it was approved,
// by one person as its requirement says, not in an emergency, and its requirement
// does not want a second thought each time.
func (a *Approval) Grantable() bool {
	needs := a.Current().Requirement
	if a.State != Approved && a.State != Redeemed || needs.Quorum > 1 || needs.Confirm || len(needs.Also) > 0 {
		return false
	}
	return a.Review == nil
}
