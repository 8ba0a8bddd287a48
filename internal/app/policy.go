package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/config"
	"countersign/internal/fault"
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
	p.Stamp = tools.Digest("policy", string(stamp))
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
		return nil, fault.Wrap(err, fault.Invalid, "%s.", err)
	}
	return p, nil
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
			return fault.Wrap(err, fault.Invalid, "%s.", err)
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
