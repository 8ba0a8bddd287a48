package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/internal/api"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type tokensCmd struct {
	Create tokensCreateCmd `cmd:"" help:"Make a token of the HTTP interface and print it, once."`
	List   tokensListCmd   `cmd:"" help:"List tokens."`
	Revoke tokensRevokeCmd `cmd:"" help:"End a token at once."`
}

type tokensCreateCmd struct {
	Name  string        `arg:"" help:"What it is called in the record, like deploy-bot."`
	User  string        `required:"" placeholder:"USER_ID" help:"The person who decides with it, or answers for what it asks."`
	Scope string        `required:"" enum:"ask,decide" help:"ask: start runs and look at them. decide: approve and reject. Never both."`
	Roles []string      `help:"Roles of what it asks; none: LOW tools alone. Only with the scope ask."`
	TTL   time.Duration `default:"720h" help:"How long it is valid, at most a year."`
}

// longest is how long a token may be valid.
const longest = 366 * 24 * time.Hour

// tokenName is how tokens are called: words that read well in the record.
var tokenName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

// userID is what Slack's ids of people look like.
var userID = regexp.MustCompile(`^[UW][A-Z0-9]+$`)

// Run makes a token.
func (c *tokensCreateCmd) Run(e *env) error {
	if err := c.check(e); err != nil {
		return err
	}
	return e.operate(func(o *app.Operator) error {
		team, err := o.Workspace(e.ctx)
		if err != nil {
			return err
		}
		now, secret := e.now(), api.NewSecret()
		t := api.Token{Name: c.Name, Scope: api.Scope(c.Scope), Owner: policy.Actor{Team: team, User: c.User}, Roles: c.Roles, CreatedAt: now, ExpiresAt: now.Add(c.TTL)}
		err = o.Store.AddToken(e.ctx, t, api.Hash(secret), c.entry(e, &t))
		if errors.Is(err, store.ErrTokenName) {
			return fault.Wrap(err, fault.Conflict, "There is, or was, a token called %s: names are used once.", c.Name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s\n", secret)
		e.log.Info("this is shown once", "token", c.Name, "scope", c.Scope, "user", c.User, "until", instant(t.ExpiresAt))
		return nil
	})
}

func (c *tokensCreateCmd) check(e *env) error {
	cfg, err := e.load()
	switch {
	case err != nil:
		return err
	case !tokenName.MatchString(c.Name):
		return fault.New(fault.Invalid, "A token's name is small letters, digits, _ and -, and begins with a letter.")
	case !userID.MatchString(c.User):
		return fault.New(fault.Invalid, "--user takes the Slack id of a person: `countersign ids NAME` finds it.")
	case c.TTL <= 0 || c.TTL > longest:
		return fault.New(fault.Invalid, "--ttl is more than nothing and at most a year.")
	case c.Scope == string(api.Decide) && len(c.Roles) > 0:
		return fault.New(fault.Invalid, "A token that decides has its person's roles; --roles is for tokens that ask.")
	}
	for _, r := range c.Roles {
		if _, ok := cfg.Roles[r]; !ok {
			return fault.New(fault.Invalid, "There is no role %q in the configuration.", r)
		}
	}
	return nil
}

func (c *tokensCreateCmd) entry(e *env, t *api.Token) audit.Entry {
	data := fmt.Sprintf(`{"token":%q,"scope":%q,"user":%q,"roles":%q}`, t.Name, t.Scope, t.Owner.User, strings.Join(t.Roles, " "))
	return audit.Entry{At: e.now(), Kind: "token.created", Team: t.Owner.Team, Via: via(), Data: data}
}

type tokensListCmd struct{}

// Run lists tokens.
func (*tokensListCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.Tokens(e.ctx)
		if err != nil {
			return err
		}
		return list(e, all, "no tokens", "TOKEN\tSCOPE\tUSER\tROLES\tSTATE\tUNTIL", func(t *api.Token) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", t.Name, t.Scope, t.Owner.User, dash(strings.Join(t.Roles, ",")), tokenState(t, e.now()), instant(t.ExpiresAt))
		})
	})
}

func tokenState(t *api.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.Valid(now):
		return "expired"
	}
	return "valid"
}

type tokensRevokeCmd struct {
	Name string `arg:"" help:"The token."`
}

// Run ends a token.
func (c *tokensRevokeCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		err := o.Store.RevokeToken(e.ctx, c.Name, e.now(), audit.Entry{At: e.now(), Kind: "token.revoked", Via: via(), Data: fmt.Sprintf(`{"token":%q}`, c.Name)})
		if errors.Is(err, agent.ErrNotFound) {
			return fault.Wrap(err, fault.NotFound, "There is no token %q that is not revoked.", c.Name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "Token %s is revoked.\n", c.Name)
		return nil
	})
}
