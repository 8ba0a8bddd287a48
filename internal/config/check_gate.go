package config

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

func (k *checker) approvals() {
	a := k.Approvals
	k.approverRoles("approvals.approvers", a.Approvers)
	k.approverRoles("approvals.break_glass", a.BreakGlass)
	k.enough("approvals.quorum", a.Approvers, a.Quorum)
	for i, before := range a.Remind {
		if before >= a.TTL {
			k.fail(item("approvals.remind", i), "is not before the expiry, which comes after %s (approvals.ttl)", a.TTL)
		}
	}
	if a.Sweep >= a.TTL {
		k.fail("approvals.sweep", "must be shorter than approvals.ttl (%s)", a.TTL)
	}
	if e := a.Escalate; e != nil {
		k.approverRoles("approvals.escalate.to", e.To)
		if e.After >= a.TTL {
			k.fail("approvals.escalate.after", "comes after the expiry (approvals.ttl is %s)", a.TTL)
		}
	}
	k.grants(a.Grants)
}

// Beyond these bounds a standing grant is no longer one decision about a piece of work:
// whoever wants that for good writes a rule, which everybody can read and which has at_most.
const (
	mostGranted    = 1000
	longestGranted = 30 * 24 * time.Hour
)

func (k *checker) grants(g *Grants) {
	if g == nil {
		return
	}
	if g.Count > mostGranted {
		k.fail("approvals.grants.count", "one grant may be for at most %d calls; a rule with at_most lets more through", mostGranted)
	}
	if g.Within > longestGranted {
		k.fail("approvals.grants.within", "one grant may be for at most %s; a rule with at_most holds for longer", longestGranted)
	}
}

// enough checks that a quorum can be reached by the people named, where all of
// them are known: user groups are as large as Slack says.
func (k *checker) enough(key string, roles []string, quorum int) {
	people := map[UserID]bool{}
	for _, name := range roles {
		r := k.Roles[name]
		if len(r.Usergroups) > 0 {
			return
		}
		for _, id := range r.Users {
			people[id] = true
		}
	}
	if len(roles) > 0 && quorum > len(people) {
		k.fail(key, "%s needed, but the roles %s name %d", peopleAre(quorum), strings.Join(roles, ", "), len(people))
	}
}

func peopleAre(n int) string {
	if n == 1 {
		return "1 person is"
	}
	return fmt.Sprintf("%d people are", n)
}

// sumOf is how a bound names the argument that it adds up.
var sumOf = regexp.MustCompile(`^args\.[A-Za-z_][A-Za-z0-9_]*$`)

func (k *checker) rules() {
	for i, r := range k.Rules {
		key := item("rules", i)
		if r.Tool == "" && r.When == "" {
			k.fail(key, "needs tool or when; a rule for every call is what approvals says")
		}
		k.approverRoles(key+".approvers", r.Approvers)
		approvers, quorum := r.Approvers, r.Quorum
		if len(approvers) == 0 {
			approvers = k.Approvals.Approvers
		}
		if quorum > 0 {
			k.enough(key+".quorum", approvers, quorum)
		}
		k.ruleSense(key, r)
	}
}

// ruleSense refuses rules that contradict themselves.
func (k *checker) ruleSense(key string, r Rule) {
	eased := r.Risk == "low" || r.Risk == "medium"
	asks := len(r.Approvers) > 0 || r.Quorum > 0 || r.TTL > 0 || r.Batch
	switch {
	case r.Deny != "" && (asks || r.Risk != "" || r.AtMost != nil):
		k.fail(key+".deny", "refuses the call, so nothing else can be said of it")
	case eased && asks:
		k.fail(key+".risk", "approvers, quorum, ttl and batch mean nothing for a call of %s risk", r.Risk)
	case eased && r.AtMost == nil:
		k.fail(key+".risk", "a rule that lowers the risk needs at_most")
	case r.AtMost != nil && !eased:
		k.fail(key+".at_most", "bounds a lowered risk, and this rule lowers none")
	}
	if b := r.AtMost; b != nil {
		k.bound(key+".at_most", *b)
	}
}

func (k *checker) bound(key string, b AtMost) {
	if b.Count == 0 && b.Limit == 0 {
		k.fail(key, "needs count, or sum and limit")
	}
	if (b.Sum == "") != (b.Limit == 0) {
		k.fail(key, "sum and limit go together")
	}
	if b.Sum != "" && !sumOf.MatchString(b.Sum) {
		k.fail(key+".sum", "must be one argument, as args.NAME")
	}
}

// item is the key of a list's item.
func item(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(names), ", ")
}
