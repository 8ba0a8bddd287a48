package config

import "time"

// Role is a group of people. Channels let their members ask; they never let
// anybody approve.
type Role struct {
	Users      []UserID      `yaml:"users" doc:"Ids of people (U… or W…). A guest decides only where named so."`
	Usergroups []UsergroupID `yaml:"usergroups" doc:"Ids of Slack user groups (S…)."`
	Channels   []ChannelID   `yaml:"channels" doc:"Ids of channels (C… or G…) whose members may ask."`
}

// CanApprove reports whether the role holds anybody who may approve.
func (r Role) CanApprove() bool { return len(r.Users)+len(r.Usergroups) > 0 }

// Approvals says who countersigns HIGH calls and for how long a request stands.
type Approvals struct {
	TTL             time.Duration   `yaml:"ttl" min:"1s" doc:"How long a request stands before it expires."`
	Sweep           time.Duration   `yaml:"sweep" min:"100ms" doc:"How often expiry is looked for."`
	Remind          []time.Duration `yaml:"remind" min:"1s" doc:"Reminders, as time before expiry."`
	Escalate        *Escalation     `yaml:"escalate" doc:"Who else is asked when nobody decides."`
	Notify          string          `yaml:"notify" enum:"none,dm" doc:"Whether people who may countersign are told of every card by direct message (dm)."`
	Approvers       []string        `yaml:"approvers" doc:"Roles that may countersign; none: HIGH tools are refused."`
	Quorum          int             `yaml:"quorum" min:"1" doc:"Distinct people who must approve."`
	SelfApproval    bool            `yaml:"self_approval" doc:"Whether the requester's own approval counts."`
	EditApproves    bool            `yaml:"edit_approves" doc:"Whether an edit is its author's approval of the new revision."`
	StepUp          string          `yaml:"step_up" enum:"none,totp" doc:"Second proof asked in the decision's form."`
	TOTPKey         Secret          `yaml:"totp_key" doc:"Seals the secrets of one-time codes in the database: at least 32 random bytes in base64 or hex (openssl rand -base64 32). Needed by step_up and break_glass."`
	TOTPOldKeys     []Secret        `yaml:"totp_old_keys" doc:"Keys of before, which only open what they sealed, until countersign migrate sealed it with totp_key."`
	Grants          *Grants         `yaml:"grants" doc:"Whether people may let further calls like an approved one run without a card; left out: they may not."`
	BreakGlass      []string        `yaml:"break_glass" doc:"Roles that may approve alone in an emergency, with a one-time code and a reason; others are told and review it. Empty: nobody."`
	CLI             bool            `yaml:"cli" doc:"Whether approvals can be decided on the command line."`
	ResumePerMinute int             `yaml:"resume_per_minute" min:"1" doc:"Runs woken by expiry per minute, so that the model's limits are not hit."`
}

// Escalation asks further roles when a request has stood for a while.
type Escalation struct {
	After time.Duration `yaml:"after" min:"1s" need:"yes" doc:"Time since the request was opened."`
	To    []string      `yaml:"to" need:"yes" doc:"Roles that are asked then."`
}

// Grants bounds standing grants.
type Grants struct {
	Count  int           `yaml:"count" min:"1" need:"yes" doc:"The most calls that one grant may be for: 1 to 1000."`
	Within time.Duration `yaml:"within" min:"1m" need:"yes" doc:"The longest time that one grant may be for: 1m to 720h."`
}

// Rule changes what one kind of call needs. Fields left out keep what they are.
type Rule struct {
	Tool         string        `yaml:"tool" doc:"Name of the tool; empty: every tool."`
	When         string        `yaml:"when" doc:"CEL over tool, args, user, roles, channel, risk, run.read; empty: always."`
	Risk         string        `yaml:"risk" enum:"low,medium,high" doc:"Risk of the call. Lowering it needs at_most."`
	Approvers    []string      `yaml:"approvers" doc:"Roles that may countersign."`
	Quorum       int           `yaml:"quorum" min:"1" doc:"Distinct people who must approve."`
	TTL          time.Duration `yaml:"ttl" min:"1s" doc:"How long the request stands."`
	SelfApproval *bool         `yaml:"self_approval" doc:"Whether the requester's own approval counts."`
	StepUp       string        `yaml:"step_up" enum:"none,totp" doc:"Second proof asked in the decision's form."`
	Confirm      *bool         `yaml:"confirm" doc:"Whether Approve asks once more."`
	Batch        bool          `yaml:"batch" doc:"Whether one press may decide several such calls of one turn together, all of them shown in full."`
	Deny         string        `yaml:"deny" doc:"Refuses the call; the text is the reason that people and the model are told."`
	AtMost       *AtMost       `yaml:"at_most" doc:"Bounds a lowered risk, counted in the database. Used up, it leaves the call to what stands below the rule."`
}

// AtMost bounds how often, and for how much together, a rule may lower a risk.
type AtMost struct {
	Count  int           `yaml:"count" min:"1" doc:"Calls within the time."`
	Sum    string        `yaml:"sum" doc:"Argument that is added up, as args.NAME."`
	Limit  float64       `yaml:"limit" min:"0" doc:"Largest sum within the time."`
	Per    string        `yaml:"per" enum:"asker,channel,all" doc:"Whose calls are counted together; empty: asker."`
	Within time.Duration `yaml:"within" min:"1s" need:"yes" doc:"The time."`
}
