package app

import (
	"countersign/approvals/policy"
	"countersign/internal/config"
)

// policyOf makes the policy of the configuration.
func policyOf(c *config.Config) *policy.Policy {
	p := &policy.Policy{
		Roles: map[string]policy.Role{},
		Default: policy.Requirement{
			Approvers: c.Approvals.Approvers, Quorum: c.Approvals.Quorum, TTL: c.Approvals.TTL,
			SelfApproval: c.Approvals.SelfApproval, EditApproves: c.Approvals.EditApproves,
		},
	}
	if c.Approvals.StepUp != "none" {
		p.Default.StepUp = c.Approvals.StepUp
	}
	for name, r := range c.Roles {
		p.Roles[name] = policy.Role{Users: idsOf(r.Users), Usergroups: idsOf(r.Usergroups), Channels: idsOf(r.Channels)}
	}
	return p
}
