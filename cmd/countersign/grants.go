package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
)

type grantsCmd struct {
	List   grantsListCmd   `cmd:"" help:"List the standing grants under which calls run without a card."`
	Revoke grantsRevokeCmd `cmd:"" help:"Take a standing grant back."`
}

type grantsListCmd struct {
	All bool `help:"Also those that are over."`
}

// Run lists standing grants.
func (c *grantsListCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.AllGrants(e.ctx)
		if err != nil {
			return err
		}
		if !c.All {
			all = slices.DeleteFunc(all, func(g approvals.Grant) bool { return g.State != approvals.GrantOpen })
		}
		p := page{mask: o.Mask}
		return list(e, all, "no standing grants", "GRANT\tSTATE\tTOOL\tGIVER\tASKER\tUSED\tUNTIL\tEQUAL\tARGUMENTS", func(g *approvals.Grant) string {
			equal := "all"
			if len(g.Fields) > 0 {
				equal = strings.Join(g.Fields, ",")
			}
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\t%s", g.ID, strings.TrimSpace(string(g.State)+" "+g.Why), p.say(g.Tool), g.Giver.User,
				g.Asker.User, g.Used, g.Most, instant(g.EndsAt), p.say(equal), p.short(string(g.Args), 60))
		})
	})
}

type grantsRevokeCmd struct {
	ID string `arg:"" help:"The grant."`
}

// Run takes a standing grant back. It works while approvals.cli is false: what needs
// a card again decides nothing.
func (c *grantsRevokeCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.AllGrants(e.ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(g approvals.Grant) bool { return g.ID == c.ID })
		if at < 0 {
			return fault.New(fault.NotFound, "There is no standing grant %q.", c.ID)
		}
		g, now := all[at], e.now()
		g.State, g.Why, g.SettledAt = approvals.GrantRevoked, "operator", now
		data, err := json.Marshal(map[string]any{"grant": g.ID, "tool": g.Tool, "giver": g.Giver.User, "used": g.Used})
		if err != nil {
			return fmt.Errorf("describe the grant: %w", err)
		}
		entry := audit.Entry{At: now, Kind: "grant.revoked", Approval: g.Approval, Via: via(), Data: string(data)}
		wishes := append(agent.GrantWishes(&g, string(cfg.Slack.ApprovalsChannel), now), agent.PeopleWish(&approvals.Approval{ID: g.Approval}, now))
		err = o.Store.EndGrant(e.ctx, g, wishes, []audit.Entry{entry})
		if errors.Is(err, agent.ErrSettled) {
			return fault.New(fault.Conflict, "The standing grant is over already.")
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(e.out, "Revoked: such calls wait for a card again.")
		return nil
	})
}
