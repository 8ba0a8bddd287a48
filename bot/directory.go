package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"golang.org/x/sync/singleflight"

	"countersign/agent"
	"countersign/approvals/policy"
)

// Directory knows people as Slack knows them: users.info, and the members of the
// usergroups that the policy names. It remembers for a short time; a fresh look
// asks Slack now. Anything that fails is an error: nobody is guessed.
type Directory struct {
	api    *slack.Client
	self   Self
	policy func() *policy.Policy
	now    func() time.Time

	calls  singleflight.Group
	mu     sync.Mutex
	people shelf[*slack.User]
	groups shelf[[]string]
	health map[string]*lookups // of people together, and of each group: nobody is known without all of them

	changes int // of people and groups, that events told
}

type remembered[T any] struct {
	value T
	at    time.Time
}

// memory is how long a person or a group is remembered: a minute, as long as
// Slack's own clients take to notice.
const memory = time.Minute

// settled is how long even a fresh look is shared: clicks that arrive together ask once.
const settled = time.Second

// NewDirectory makes a Directory.
func NewDirectory(api *slack.Client, self Self, p func() *policy.Policy, now func() time.Time) *Directory {
	d := &Directory{api: api, self: self, policy: p, now: now, health: map[string]*lookups{}}
	d.people = shelf[*slack.User]{"user", map[string]remembered[*slack.User]{}, d.user}
	d.groups = shelf[[]string]{"group", map[string]remembered[[]string]{}, d.members}
	return d
}

// Person says who somebody is now. They keep the workspace under which they are known
// here, also when another one of the organisation is their home: one person, one name.
func (d *Directory) Person(ctx context.Context, who policy.Actor, fresh bool) (policy.Person, error) {
	age := memory
	if fresh {
		age = settled
	}
	u, err := recall(ctx, d, &d.people, who.User, age)
	if err != nil {
		return policy.Person{}, err
	}
	var groups []string
	for _, g := range d.policy().Usergroups() {
		members, err := recall(ctx, d, &d.groups, g, age)
		if err != nil {
			return policy.Person{}, err
		}
		if slices.Contains(members, who.User) {
			groups = append(groups, g)
		}
	}
	standing := d.standing(u)
	if standing == policy.Guest {
		groups = nil // whoever fills a group may not know who is a guest: they count where they are named
	}
	return policy.Person{
		Actor: policy.Actor{Team: orTeam(who.Team, u.TeamID), User: u.ID}, Name: nameOf(u), Locale: u.Locale, Zone: u.TZ,
		Standing: standing, Roles: d.policy().RolesOf(u.ID, groups),
	}, nil
}

// shelf remembers one kind of look-up.
type shelf[T any] struct {
	name  string
	items map[string]remembered[T]
	ask   func(context.Context, string) (T, error)
}

// recall gives what is remembered, or asks Slack once for everybody who asks at the same time.
func recall[T any](ctx context.Context, d *Directory, in *shelf[T], key string, age time.Duration) (T, error) {
	d.mu.Lock()
	r, ok := in.items[key]
	d.mu.Unlock()
	if ok && d.now().Sub(r.at) < age {
		return r.value, nil
	}
	v, err, _ := d.calls.Do(in.name+"/"+key, func() (any, error) {
		d.mu.Lock()
		changes := d.changes
		d.mu.Unlock()
		value, err := in.ask(ctx, key)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.note(in.name, key, err)
		if err != nil || d.changes != changes { // what came while Slack answered may be newer
			return value, err
		}
		in.items[key] = remembered[T]{value, d.now()}
		return value, nil
	})
	value, ok := v.(T)
	if err == nil && !ok {
		err = fmt.Errorf("look up %s: no answer", key)
	}
	return value, err
}

func (d *Directory) user(ctx context.Context, id string) (*slack.User, error) {
	u, err := patiently(ctx, func() (*slack.User, error) { return d.api.GetUserInfoContext(ctx, id) })
	if said(err, "user_not_found", "user_not_visible") {
		err = fmt.Errorf("%w: %w", agent.ErrNobody, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look up user %s: %w", id, err)
	}
	return u, nil
}

func (d *Directory) members(ctx context.Context, group string) ([]string, error) {
	members, err := patiently(ctx, func() ([]string, error) { return d.api.GetUserGroupMembersContext(ctx, group) })
	if err != nil {
		return nil, fmt.Errorf("look up usergroup %s: %w", group, err)
	}
	return members, nil
}

// patiently asks once more when Slack asks for a little patience.
func patiently[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	v, err := ask()
	var limited *slack.RateLimitedError
	if !errors.As(err, &limited) || limited.RetryAfter > mostPatience {
		return v, err
	}
	timer := time.NewTimer(limited.RetryAfter + 10*time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return v, err
	case <-timer.C:
		return ask()
	}
}

// mostPatience is how long a look-up waits for Slack before it fails.
const mostPatience = 5 * time.Second

func (d *Directory) standing(u *slack.User) policy.Standing {
	switch {
	case u.Deleted:
		return policy.Deactivated
	case u.IsBot || u.ID == "USLACKBOT":
		return policy.Bot
	case u.IsStranger || u.TeamID != "" && u.TeamID != d.self.Team && (d.self.Enterprise == "" || u.Enterprise.EnterpriseID != d.self.Enterprise):
		return policy.Outsider
	case u.IsRestricted || u.IsUltraRestricted:
		return policy.Guest
	}
	return policy.Member
}

// Holders lists the people who hold one of the roles, by user id or usergroup.
func (d *Directory) Holders(ctx context.Context, roles []string) ([]string, error) {
	var out []string
	for _, name := range roles {
		role := d.policy().Roles[name]
		out = append(out, role.Users...)
		for _, g := range role.Usergroups {
			members, err := recall(ctx, d, &d.groups, g, memory)
			if err != nil {
				return nil, err
			}
			out = append(out, members...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// KnownName is a name that happens to be remembered; it never asks Slack, so
// that reading a message takes no call.
func (d *Directory) KnownName(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r, ok := d.people.items[id]; ok {
		return nameOf(r.value)
	}
	return ""
}

// KnownLocale is a person's locale that happens to be remembered; it never asks Slack.
func (d *Directory) KnownLocale(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r, ok := d.people.items[id]; ok {
		return r.value.Locale
	}
	return ""
}

// Forget drops what an event says has changed.
func (d *Directory) Forget(event json.RawMessage) {
	var e struct {
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Members string `json:"subteam_id"` // of subteam_members_changed
		Subteam struct {
			ID string `json:"id"`
		} `json:"subteam"` // of subteam_updated
	}
	if json.Unmarshal(event, &e) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes++
	forget(d, &d.people, e.User.ID)
	forget(d, &d.groups, e.Members)
	forget(d, &d.groups, e.Subteam.ID)
}

// forget drops one answer, and lets nobody wait for one that is on its way.
func forget[T any](d *Directory, in *shelf[T], key string) {
	delete(in.items, key)
	d.calls.Forget(in.name + "/" + key)
}

// Failing says since when no look-up worked; zero when the last one did, or when none
// was made for a while: then nobody knows.
func (d *Directory) Failing() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	var since time.Time
	for _, l := range d.health {
		if !l.since.IsZero() && d.now().Sub(l.last) <= lookupsKnown && (since.IsZero() || l.since.Before(since)) {
			since = l.since
		}
	}
	return since
}

// note remembers how a look-up went.
func (d *Directory) note(kind, key string, err error) {
	if kind == d.groups.name {
		kind += "/" + key
	}
	l := d.health[kind]
	if l == nil {
		l = &lookups{}
		d.health[kind] = l
	}
	l.note(err, d.now())
}

// lookups remembers how looking people up fares, for readiness.
type lookups struct{ since, last time.Time }

const lookupsKnown = 10 * time.Minute

// note takes what came of a look-up. That somebody is not there is an answer; that a group
// is not there, which a role names, keeps everybody from being known.
func (l *lookups) note(err error, now time.Time) {
	switch {
	case err == nil || said(err, "user_not_found", "user_not_visible"):
		l.since, l.last = time.Time{}, time.Time{}
	case l.since.IsZero():
		l.since, l.last = now, now
	default:
		l.last = now
	}
}

func nameOf(u *slack.User) string {
	switch {
	case u.Profile.DisplayName != "":
		return u.Profile.DisplayName
	case u.RealName != "":
		return u.RealName
	}
	return u.Name
}

func orTeam(team, otherwise string) string {
	if team == "" {
		return otherwise
	}
	return team
}
