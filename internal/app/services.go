package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/config"
	"countersign/tools"
)

// errNoService says that nothing configured has the name any more.
var errNoService = fmt.Errorf("no such schedule, hook or token: %w", agent.ErrNobody)

// service is an asker that is no person: it has the roles that it was given, and a
// person who answers for it.
type service struct {
	owner policy.Actor
	roles []string
}

// directory knows people as Slack does, and services as the configuration and the
// tokens do. A service is named kind/name, which no id of Slack is.
type directory struct {
	people agent.Directory
	find   func(ctx context.Context, kind, name string) (service, error)
}

// Person says who somebody is now. A service is worth as much as its owner: when that
// person may not ask any more, neither may it.
func (d *directory) Person(ctx context.Context, who policy.Actor, fresh bool) (policy.Person, error) {
	kind, name, ok := strings.Cut(who.User, "/")
	if !ok {
		return d.people.Person(ctx, who, fresh)
	}
	s, err := d.find(ctx, kind, name)
	if err != nil {
		return policy.Person{}, fmt.Errorf("look up %s: %w", who.User, err)
	}
	owner, err := d.people.Person(ctx, s.owner, fresh)
	if err != nil {
		return policy.Person{}, err
	}
	p := policy.Person{Actor: who, Name: who.User, Locale: owner.Locale, Zone: owner.Zone, Standing: policy.Service, Roles: s.roles}
	if owner.Standing != policy.Member {
		p.Standing = owner.Standing
	}
	if len(s.roles) == 0 {
		p.Most = tools.Low
	}
	return p, nil
}

// serviceOf finds a service by its kind and name.
func (a *edition) serviceOf(ctx context.Context, kind, name string) (service, error) {
	switch kind {
	case "token":
		t, err := a.store.TokenNamed(ctx, name)
		if errors.Is(err, agent.ErrNotFound) || err == nil && !t.Valid(a.now()) {
			err = errNoService
		}
		return service{t.Owner, t.Roles}, err
	case "hook":
		if h := a.cfg.Hooks.Alertmanager; h != nil && name == alertmanager {
			return service{a.member(h.Owner), h.Roles}, nil
		}
	case "schedule":
		for _, s := range a.cfg.Schedules {
			if s.Name == name {
				return service{a.member(s.Owner), s.Roles}, nil
			}
		}
	}
	return service{}, errNoService
}

// alertmanager is the name of its hook.
const alertmanager = "alertmanager"

// member is a person of our own workspace.
func (a *edition) member(id config.UserID) policy.Actor {
	return policy.Actor{Team: a.slack.self.Team, User: string(id)}
}

// wireDirectory knows everybody who can ask.
func (a *edition) wireDirectory(people agent.Directory) agent.Directory {
	return &directory{people: people, find: a.serviceOf}
}
