package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/bot/slacktext"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type toolsCmd struct {
	List   toolsListCmd   `cmd:"" help:"List the tools of MCP servers, the held ones first."`
	Show   toolsShowCmd   `cmd:"" help:"Print what servers say of their tools; of held ones, what changed."`
	Accept toolsAcceptCmd `cmd:"" help:"Print what changed in a held tool, and accept it."`
}

type toolsListCmd struct{}

// Run lists the tools with their state.
func (*toolsListCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.Pins(e.ctx)
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b store.Pin) int { return strings.Compare(pinState(&a), pinState(&b)) * -1 })
		return list(e, all, "no tools of MCP servers were seen yet", "SERVER\tTOOL\tSTATE\tACCEPTED", func(p *store.Pin) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s", p.Server, slacktext.Draw(p.Tool), pinState(p), instant(p.Since()))
		})
	})
}

func pinState(p *store.Pin) string {
	if p.OfferedHash != "" {
		return "held"
	}
	return "accepted"
}

type toolsShowCmd struct {
	Server string `arg:"" help:"The server's name in the configuration."`
	Tool   string `arg:"" optional:"" help:"The server's own name of a tool; none: all that are held."`
}

// Run prints the contracts.
func (c *toolsShowCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.Pins(e.ctx)
		if err != nil {
			return err
		}
		shown := 0
		for i := range all {
			p := &all[i]
			if p.Server == c.Server && (p.Tool == c.Tool || c.Tool == "" && p.OfferedHash != "") {
				printPin(e, p)
				shown++
			}
		}
		if shown == 0 {
			return fault.New(fault.NotFound, "No tool of %s is held, or it has none of that name: `countersign tools list`.", c.Server)
		}
		return nil
	})
}

type toolsAcceptCmd struct {
	Server string `arg:"" help:"The server's name in the configuration."`
	Tool   string `arg:"" help:"The server's own name of the tool."`
}

// Run accepts exactly what it prints. Processes that are running follow within seconds.
func (c *toolsAcceptCmd) Run(e *env) error {
	return e.operate(func(o *app.Operator) error {
		all, err := o.Store.Pins(e.ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(p store.Pin) bool { return p.Server == c.Server && p.Tool == c.Tool && p.OfferedHash != "" })
		if i < 0 {
			return fault.New(fault.NotFound, "%s has no held tool %q: `countersign tools list`.", c.Server, c.Tool)
		}
		printPin(e, &all[i])
		entry := audit.Entry{At: e.now(), Kind: "tool.accepted", Via: via(), Data: fmt.Sprintf(`{"server":%q,"tool":%q,"contract":%q}`, c.Server, c.Tool, all[i].OfferedHash)}
		if err := o.Store.AcceptPin(e.ctx, &all[i], entry); errors.Is(err, agent.ErrNotFound) {
			return fault.Wrap(err, fault.Conflict, "The server changed it again in this moment; look at it anew.")
		} else if err != nil {
			return err
		}
		fmt.Fprintln(e.out, "Accepted. Approvals of the earlier contract do not count for it.")
		return nil
	})
}

// printPin prints a contract, with what changed in it. They are the server's words, kept
// as they were drawn: nothing in them is invisible or moves a terminal.
func printPin(e *env, p *store.Pin) {
	fmt.Fprintf(e.out, "%s %s: %s, accepted %s\n", p.Server, slacktext.Draw(p.Tool), pinState(p), instant(p.Since()))
	old, now := strings.Split(p.Contract, "\n"), strings.Split(p.Offered, "\n")
	switch {
	case p.OfferedHash == "":
		fmt.Fprintln(e.out, p.Contract)
	case p.Contract == "":
		fmt.Fprintf(e.out, "What was accepted was kept by an older version, as a hash alone. The server says now:\n%s\n", p.Offered)
	default:
		for _, line := range difference(old, now) {
			fmt.Fprintln(e.out, line)
		}
	}
}

// mostCompared is how many pairs of lines are compared; longer texts stand one after the other.
const mostCompared = 4_000_000

// difference writes two texts as one: "- " goes before lines that the first alone has,
// "+ " before those of the second.
func difference(a, b []string) []string {
	if len(a)*len(b) > mostCompared {
		return append(append(difference(a, nil), difference(nil, b)...), "(too long to be compared)")
	}
	common := make([][]int, len(a)+1) // longest common part of what is left of both
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out, i, j = append(out, "  "+a[i]), i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out, i = append(out, "- "+a[i]), i+1
		default:
			out, j = append(out, "+ "+b[j]), j+1
		}
	}
	return out
}
