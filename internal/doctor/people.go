package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals/policy"
	"countersign/bot/survey"
	"countersign/internal/config"
)

// crowd is who holds roles, as Slack knows them now.
type crowd struct {
	*examiner
	groups map[string]survey.Usergroup // nil: they cannot be listed
	people map[string]policy.Person
	failed map[string]error
}

// people looks at everybody who could countersign.
func (e *examiner) people(ctx context.Context) {
	c := &crowd{examiner: e, people: map[string]policy.Person{}, failed: map[string]error{}}
	c.listGroups(ctx)
	for _, name := range sorted(e.Config.Roles) {
		c.role(ctx, name, e.Config.Roles[name])
	}
	for _, need := range c.needs() {
		c.enough(ctx, need)
	}
}

func sorted(roles map[string]config.Role) []string {
	var out []string
	for name := range roles {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (c *crowd) listGroups(ctx context.Context) {
	named := false
	for _, r := range c.Config.Roles {
		named = named || len(r.Usergroups) > 0
	}
	if !named {
		return
	}
	groups, err := c.Slack.Usergroups(ctx)
	var r *survey.Refused
	switch {
	case errors.As(err, &r) && r.Code == "missing_scope":
		c.broken("people", "Add the scope usergroups:read to the app and install it again, or name people by users instead.",
			"User groups cannot be read without the scope usergroups:read, so nobody holds a role by one.")
	case err != nil:
		c.warn("people", "Ask again later.", "The user groups cannot be listed: %s.", err)
	default:
		c.groups = map[string]survey.Usergroup{}
		for _, g := range groups {
			c.groups[g.ID] = g
		}
	}
}

// role names what is wrong with one role's own entries.
func (c *crowd) role(ctx context.Context, name string, r config.Role) {
	for _, id := range r.Users {
		c.member(ctx, string(id), "roles."+name+".users")
	}
	for _, id := range r.Usergroups {
		if c.groups == nil {
			continue
		}
		g, ok := c.groups[string(id)]
		switch {
		case !ok:
			c.broken("people", "Correct the id (`countersign ids NAME` finds it).", "There is no user group %s (roles.%s).", id, name)
		case g.Disabled:
			c.broken("people", "Switch it on again in Slack, or name another one.", "The user group @%s (%s, roles.%s) is switched off.", g.Handle, id, name)
		case len(g.Members) == 0:
			c.broken("people", "Add people to it in Slack.", "The user group @%s (%s, roles.%s) is empty.", g.Handle, id, name)
		default:
			c.groupMembers(ctx, g, name)
		}
	}
}

// mostMembers is how many people of one group are looked up.
const mostMembers = 30

func (c *crowd) groupMembers(ctx context.Context, g survey.Usergroup, role string) {
	for i, id := range g.Members {
		if i == mostMembers {
			return
		}
		c.member(ctx, id, fmt.Sprintf("@%s, roles.%s", g.Handle, role))
	}
}

// member looks one person up, once, and names who can neither ask nor decide.
func (c *crowd) member(ctx context.Context, id, where string) {
	if _, known := c.people[id]; known || c.failed[id] != nil {
		return
	}
	p, err := c.Slack.Person(ctx, c.token.Self, id)
	if err != nil {
		c.failed[id] = err
		c.unknown(id, where, err)
		return
	}
	c.people[id] = p
	what := map[policy.Standing]string{
		policy.Deactivated: "is deactivated", policy.Guest: "is a guest", policy.Outsider: "belongs to another workspace", policy.Bot: "is a bot",
	}[p.Standing]
	switch {
	case p.Standing == policy.Guest && !strings.HasPrefix(where, "@"):
		c.warn("people", "Take that person out of the role, unless they are meant to decide.", "%s (%s, %s) is a guest: named like this they may decide, and cannot ask.", p.Name, id, where)
	case what != "":
		c.warn("people", "Take that person out of the role.", "%s (%s, %s) %s, and can neither ask nor decide.", p.Name, id, where, what)
	}
}

func (c *crowd) unknown(id, where string, err error) {
	var r *survey.Refused
	if errors.As(err, &r) && (r.Code == "user_not_found" || r.Code == "user_not_visible") {
		c.broken("people", "Correct the id (`countersign ids NAME` finds it).", "There is nobody with the id %s (%s).", id, where)
		return
	}
	if errors.As(err, &r) && r.Code == "missing_scope" {
		return // said with the scopes
	}
	c.warn("people", "Ask again later.", "%s (%s) cannot be looked up: %s.", id, where, err)
}

// need is who must countersign somewhere.
type need struct {
	setting string
	roles   []string
	quorum  int
	self    bool
}

// needs lists what the configuration asks of approvers, for the tools that need them.
func (c *crowd) needs() []need {
	a := c.Config.Approvals
	var out []need
	if len(c.Config.HighTools()) > 0 && len(a.Approvers) > 0 {
		out = append(out, need{"approvals.approvers", a.Approvers, a.Quorum, a.SelfApproval})
	}
	for i, r := range c.Config.Rules {
		if len(r.Approvers) == 0 && r.Quorum == 0 {
			continue
		}
		n := need{fmt.Sprintf("rules[%d]", i), r.Approvers, max(r.Quorum, a.Quorum), a.SelfApproval}
		if len(n.roles) == 0 {
			n.roles = a.Approvers
		}
		if r.Quorum > 0 {
			n.quorum = r.Quorum
		}
		if r.SelfApproval != nil {
			n.self = *r.SelfApproval
		}
		out = append(out, n)
	}
	return out
}

// enough says whether the people who are there can countersign at all.
func (c *crowd) enough(_ context.Context, n need) {
	able, sure := c.able(n.roles)
	roles := strings.Join(n.roles, ", ")
	switch {
	case len(able) == 0 && !sure:
		return // why is said elsewhere
	case len(able) == 0:
		c.broken("people", "Add a member of the workspace to one of these roles.", "Nobody can countersign: the roles %s (%s) hold no active member.", roles, n.setting)
	case len(able) < n.quorum && sure:
		c.broken("people", "Add people to these roles, or lower the quorum.", "%s must countersign (%s), and the roles %s hold %s.", persons(n.quorum), n.setting, roles, counted(able))
	case len(able) == n.quorum && sure && !n.self:
		c.warn("people", "Add one more person to these roles, or set approvals.self_approval.",
			"Only %s may countersign (%s): what they ask for themselves, nobody can approve.", c.named(able), n.setting)
	default:
		c.ok("people", "%s can countersign (%s: %s).", counted(able), n.setting, roles)
	}
}

func counted(people []string) string { return persons(len(people)) }

func persons(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

func (c *crowd) named(ids []string) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprintf("%s (%s)", c.people[id].Name, id)
	}
	return strings.Join(out, " and ")
}

// able lists the active members who hold one of the roles; sure is false when
// somebody could not be looked up.
func (c *crowd) able(roles []string) (ids []string, sure bool) {
	sure = true
	add := func(id string, named bool) {
		p, known := c.people[id]
		switch {
		case !known:
			sure = sure && c.failed[id] != nil && isUnknown(c.failed[id])
		case (p.Standing == policy.Member || named && p.Standing == policy.Guest) && !slices.Contains(ids, id):
			ids = append(ids, id)
		}
	}
	for _, name := range roles {
		r := c.Config.Roles[name]
		for _, id := range r.Users {
			add(string(id), true)
		}
		if len(r.Usergroups) > 0 && c.groups == nil {
			sure = false
		}
		for _, g := range r.Usergroups {
			if c.groups[string(g)].Disabled {
				continue
			}
			for _, id := range c.groups[string(g)].Members {
				add(id, false)
			}
		}
	}
	return ids, sure
}

func isUnknown(err error) bool {
	var r *survey.Refused
	return errors.As(err, &r) && r.Code == "user_not_found"
}
