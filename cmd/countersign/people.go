package main

import (
	"errors"
	"fmt"

	"github.com/pquerna/otp/totp"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type enrollCmd struct {
	User string `arg:"" name:"user-id" help:"Slack id of the person (U…)."`
}

// Run gives a person a second proof and prints its secret, once and nowhere else.
func (c *enrollCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		who, err := e.member(o, c.User)
		if err != nil {
			return err
		}
		key, err := totp.Generate(totp.GenerateOpts{Issuer: "countersign", AccountName: who.User})
		if err != nil {
			return fmt.Errorf("make a secret: %w", err)
		}
		entry := audit.Entry{At: e.now(), Kind: "person.enrolled", Team: who.Team, User: who.User, Via: via(), Data: "{}"}
		if err := o.Enroll(e.ctx, who, key.Secret(), entry); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "Give this to %s alone, over a way that nobody else reads; it is not shown again.\nAn earlier one no longer counts.\n\n%s\n\nsecret: %s\n", who.User, key.URL(), key.Secret())
		return nil
	})
}

type unlockCmd struct {
	User string `arg:"" name:"user-id" help:"Slack id of the person (U…)."`
}

// Run lets a locked person's decisions count again.
func (c *unlockCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		who, err := e.locked(o, c.User)
		if err != nil {
			return err
		}
		was, err := o.Store.Unlock(e.ctx, who, audit.Entry{At: e.now(), Kind: "person.unlocked", Team: who.Team, User: who.User, Via: via(), Data: "{}"})
		if errors.Is(err, decisions.ErrStands) {
			return fault.Wrap(err, fault.Conflict, "Something that was decided in the name of %s is not void yet. A countersign that serves sees to it within seconds: let one run, then unlock again.", who.User)
		}
		if err != nil {
			return err
		}
		if !was {
			return fault.New(fault.NotFound, "%s is not locked.", who.User)
		}
		fmt.Fprintf(e.out, "%s may decide again. What was void stays void.\n", who.User)
		return nil
	})
}

type lockedCmd struct{}

// Run lists the people whose decisions do not count.
func (*lockedCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		people, err := o.Store.LockedPeople(e.ctx)
		if err != nil {
			return err
		}
		return list(e, people, "nobody is locked", "PERSON\tSINCE\tWHY", func(l *store.Locked) string {
			return fmt.Sprintf("%s\t%s\t%s", l.Who.User, instant(l.At), l.Why)
		})
	})
}

type reviewsCmd struct{}

// Run lists approvals that one person gave alone and that wait for somebody else's look.
func (*reviewsCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		open, err := o.Store.OpenReviews(e.ctx)
		if err != nil {
			return err
		}
		return list(e, open, "nothing waits for a review", "APPROVAL\tACTED ALONE\tSINCE", func(r *approvals.Review) string {
			return fmt.Sprintf("%s\t%s\t%s", r.Approval, r.Actor.User, instant(r.OpenedAt))
		})
	})
}

// member names a person of our workspace.
func (e *env) member(o *app.Operator, user string) (policy.Actor, error) {
	if !userID.MatchString(user) {
		return policy.Actor{}, fault.New(fault.Invalid, "%q is not the Slack id of a person: `countersign ids NAME` finds it.", user)
	}
	team, err := o.Workspace(e.ctx)
	return policy.Actor{Team: team, User: user}, err
}

// locked finds a locked person; what the database has needs nobody else.
func (e *env) locked(o *app.Operator, user string) (policy.Actor, error) {
	people, err := o.Store.LockedPeople(e.ctx)
	if err != nil {
		return policy.Actor{}, err
	}
	for _, l := range people {
		if l.Who.User == user {
			return l.Who, nil
		}
	}
	return policy.Actor{}, fault.New(fault.NotFound, "%s is not locked.", user)
}
