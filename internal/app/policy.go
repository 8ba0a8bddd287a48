package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/config"
	"countersign/tools"
)

// policyOf makes the policy of the configuration.
func policyOf(c *config.Config) (*policy.Policy, error) {
	p := &policy.Policy{
		Roles: map[string]policy.Role{},
		Default: policy.Requirement{
			Approvers: c.Approvals.Approvers, Quorum: c.Approvals.Quorum, TTL: c.Approvals.TTL,
			SelfApproval: c.Approvals.SelfApproval, EditApproves: c.Approvals.EditApproves, StepUp: stepUp(c.Approvals.StepUp), BreakGlass: c.Approvals.BreakGlass,
		},
	}
	stamp, err := json.Marshal([]any{c.Roles, c.Rules, c.Approvals, c.Tools})
	if err != nil {
		return nil, fmt.Errorf("stamp the policy: %w", err)
	}
	p.Stamp = tools.Digest(append([]string{"policy", string(stamp)}, kept(c)...)...)
	if c.Approvals.Escalate != nil {
		p.Default.Escalate = c.Approvals.Escalate.To
	}
	for name, r := range c.Roles {
		p.Roles[name] = policy.Role{Users: idsOf(r.Users), Usergroups: idsOf(r.Usergroups), Channels: idsOf(r.Channels)}
	}
	if len(c.Rules) == 0 {
		return p, nil
	}
	rules := make([]policy.Rule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = ruleOf(fmt.Sprintf("rules[%d]", i), r)
	}
	if p.Rules, err = policy.NewRules(rules); err != nil {
		return nil, placed(c, err)
	}
	return p, nil
}

// kept lists what of the tools is written as a mask otherwise and can say where they act:
// addresses, headers, environments.
func kept(c *config.Config) []string {
	var out []string
	all := func(of map[string]config.Secret) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			out = append(out, name, of[name].Reveal())
		}
	}
	for _, d := range c.Tools.SQL {
		out = append(out, d.URL.Reveal())
	}
	for _, h := range c.Tools.HTTP {
		all(h.Headers)
	}
	for _, o := range c.Tools.OpenAPI {
		all(o.Headers)
	}
	if s := c.Tools.Sandbox; s != nil {
		all(s.Env)
	}
	for _, m := range c.Tools.MCP {
		all(m.Headers)
		all(m.Env)
	}
	return out
}

// placed says where in the configuration the rules stand with which something is wrong.
func placed(c *config.Config, err error) error {
	var wrong policy.RuleErrors
	if !errors.As(err, &wrong) {
		return err
	}
	problems := make(config.Problems, len(wrong))
	for i, w := range wrong {
		problems[i] = c.Problem(w.Key, w.Text)
	}
	return problems
}

func ruleOf(name string, r config.Rule) policy.Rule {
	out := policy.Rule{
		Name: name, Tool: r.Tool, When: r.When, Risk: tools.Risk(r.Risk), Approvers: r.Approvers, Quorum: r.Quorum, TTL: r.TTL,
		SelfApproval: r.SelfApproval, StepUp: stepUp(r.StepUp), Confirm: r.Confirm, Batch: r.Batch, Deny: r.Deny,
	}
	if b := r.AtMost; b != nil {
		out.AtMost = &policy.AtMost{Count: b.Count, Sum: b.Sum, Limit: b.Limit, Per: b.Per, Within: b.Within}
	}
	return out
}

// grantsOf are the bounds of standing grants; zero: none is given.
func grantsOf(c *config.Config) decisions.GrantBounds {
	if c.Approvals.Grants == nil {
		return decisions.GrantBounds{}
	}
	return decisions.GrantBounds{Count: c.Approvals.Grants.Count, Within: c.Approvals.Grants.Within}
}

// escalateAfter is how long a card waits before further roles are asked; 0: they never are.
func escalateAfter(c *config.Config) time.Duration {
	if c.Approvals.Escalate == nil {
		return 0
	}
	return c.Approvals.Escalate.After
}

// stepUp is the second proof that decisions take; "" for none.
func stepUp(word string) string {
	if word == "none" {
		return ""
	}
	return word
}

// wirePolicy makes the policy and holds its rules against the tools that there are.
func (a *edition) wirePolicy() error {
	p, err := policyOf(a.cfg)
	if err != nil {
		return err
	}
	if p.Rules != nil {
		if err := p.Rules.Unsound(a.registry, a.mayCome); err != nil {
			return placed(a.cfg, err)
		}
	}
	a.law = p
	return nil
}

// mayCome says that a tool belongs to a server that may be away now.
func (a *edition) mayCome(tool string) bool {
	for _, m := range a.cfg.Tools.MCP {
		if strings.HasPrefix(tool, m.Name+"_") {
			return true
		}
	}
	return false
}
