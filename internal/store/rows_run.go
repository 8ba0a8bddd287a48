package store

import (
	"errors"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/tools"
)

// runRow is a row of runs.
type runRow struct {
	ID           string
	Installation string
	Channel      string
	ThreadTS     string
	MessageTS    string
	AskerTeam    string
	AskerUser    string
	Request      string
	Language     string
	Origin       string
	State        string
	Halt         string
	Closing      string
	Answer       string
	System       string
	Version      string
	Limits       string
	Spent        string
	Counters     string
	Plan         string
	Turns        int
	NextStep     int
	Wake         int64
	Seen         int64
	ReadyAt      int64
	LeaseOwner   string
	LeaseEpoch   int64
	LeaseUntil   int64
	InputBy      int64
	CreatedAt    int64 `gorm:"autoCreateTime:false"`
	UpdatedAt    int64 `gorm:"autoUpdateTime:false"`
	EndedAt      int64
	Trace        string
	OwnerTeam    string
	OwnerUser    string
	Tokens       int64
	Cost         int64
}

// TableName names the table.
func (runRow) TableName() string { return "runs" }

func newRunRow(r *agent.Run) (runRow, error) {
	limits, err1 := encode(r.Limits)
	spent, err2 := encode(r.Spent)
	counters, err3 := encode(r.Counters)
	plan, err4 := encode(r.Plan)
	return runRow{
		ID: r.ID, Installation: r.Installation, Channel: r.Channel, ThreadTS: r.TS, MessageTS: r.MessageTS,
		AskerTeam: r.Asker.Team, AskerUser: r.Asker.User, Request: clean(r.Request), Language: r.Language, Origin: r.Origin,
		State: string(r.State), Halt: string(r.Halt), Closing: string(r.Closing), Answer: clean(r.Answer),
		System: clean(r.System), Version: r.Version, Limits: limits, Spent: spent, Counters: counters, Plan: plan,
		Turns: r.Turns, NextStep: r.NextStep, Wake: r.Wake, Seen: r.Seen, ReadyAt: micros(r.ReadyAt),
		LeaseOwner: r.Lease.Owner, LeaseEpoch: r.Lease.Epoch, LeaseUntil: micros(r.Lease.Until), InputBy: micros(r.InputBy),
		CreatedAt: micros(r.CreatedAt), UpdatedAt: micros(r.UpdatedAt), EndedAt: micros(r.EndedAt),
		Trace: r.Trace, OwnerTeam: r.Owner.Team, OwnerUser: r.Owner.User, Tokens: int64(r.Spent.Prompt + r.Spent.Completion), Cost: r.Spent.Cost,
	}, errors.Join(err1, err2, err3, err4)
}

func (w *runRow) run() (agent.Run, error) {
	r := agent.Run{
		ID:        w.ID,
		Thread:    agent.Thread{Installation: w.Installation, Channel: w.Channel, TS: w.ThreadTS},
		MessageTS: w.MessageTS, Asker: policy.Actor{Team: w.AskerTeam, User: w.AskerUser},
		Request: w.Request, Language: w.Language, Origin: w.Origin,
		State: agent.RunState(w.State), Halt: agent.Halt(w.Halt), Closing: agent.Halt(w.Closing),
		Answer: w.Answer, System: w.System, Version: w.Version, Turns: w.Turns, NextStep: w.NextStep,
		Wake: w.Wake, Seen: w.Seen, ReadyAt: instant(w.ReadyAt),
		Lease: agent.Lease{Owner: w.LeaseOwner, Epoch: w.LeaseEpoch, Until: instant(w.LeaseUntil)}, InputBy: instant(w.InputBy),
		CreatedAt: instant(w.CreatedAt), UpdatedAt: instant(w.UpdatedAt), EndedAt: instant(w.EndedAt),
		Trace: w.Trace, Owner: policy.Actor{Team: w.OwnerTeam, User: w.OwnerUser},
	}
	return r, errors.Join(decode(w.Limits, &r.Limits), decode(w.Spent, &r.Spent),
		decode(w.Counters, &r.Counters), decode(w.Plan, &r.Plan))
}

// turnRow is a row of turns.
type turnRow struct {
	Run       string
	N         int
	Notes     string
	Text      string
	Reasoning string
	Extra     string
	Usage     string
	At        int64
}

// TableName names the table.
func (turnRow) TableName() string { return "turns" }

func newTurnRow(t *agent.Turn) (turnRow, error) {
	notes, err1 := encode(t.Notes)
	usage, err2 := encode(t.Usage)
	return turnRow{
		Run: t.Run, N: t.N, Notes: notes, Text: clean(t.Text), Reasoning: clean(t.Reasoning),
		Extra: clean(string(t.Extra)), Usage: usage, At: micros(t.At),
	}, errors.Join(err1, err2)
}

func (w *turnRow) turn() (agent.Turn, error) {
	t := agent.Turn{Run: w.Run, N: w.N, Text: w.Text, Reasoning: w.Reasoning, Extra: raw(w.Extra), At: instant(w.At)}
	return t, errors.Join(decode(w.Notes, &t.Notes), decode(w.Usage, &t.Usage))
}

// stepRow is a row of steps: the proposal, then what became of it.
type stepRow struct {
	Run         string
	N           int
	Turn        int
	CallID      string
	Tool        string
	Thought     string
	Raw         string
	Proposed    string
	Fingerprint string
	Extra       string
	Risk        string
	Effects     bool
	Private     bool
	ProposedAt  int64
	State       string
	Executed    string
	Observation string
	Output      string
	Summary     string
	Effect      string
	Code        string
	Outcome     string
	Sources     string
	Approval    string
	GrantID     string
	GrantTeam   string
	GrantUser   string
	Contract    string
	Epoch       int64
	Attempts    int
	Question    string
	StartedAt   int64
	EndedAt     int64
}

// TableName names the table.
func (stepRow) TableName() string { return "steps" }

// outcome gives the columns of a step that may change.
func (w *stepRow) outcome() []column {
	return []column{
		{"state", w.State}, {"executed", w.Executed}, {"observation", w.Observation}, {"output", w.Output}, {"summary", w.Summary},
		{"effect", w.Effect}, {"code", w.Code}, {"outcome", w.Outcome}, {"sources", w.Sources}, {"approval", w.Approval},
		{"grant_id", w.GrantID}, {"grant_team", w.GrantTeam}, {"grant_user", w.GrantUser}, {"contract", w.Contract}, {"epoch", w.Epoch}, {"attempts", w.Attempts},
		{"effects", w.Effects}, {"private", w.Private}, {"question", w.Question}, {"started_at", w.StartedAt}, {"ended_at", w.EndedAt},
	}
}

func newStepRow(s *agent.Step) (stepRow, error) {
	sources, err := encode(s.Sources)
	return stepRow{
		Run: s.Run, N: s.N, Turn: s.Turn, CallID: s.CallID, Tool: clean(s.Tool),
		Thought: clean(s.Thought), Raw: clean(s.Raw), Proposed: clean(string(s.Proposed)),
		Fingerprint: s.Fingerprint, Extra: clean(string(s.Extra)), Risk: string(s.Risk),
		Effects: s.Effects, Private: s.Private, ProposedAt: micros(s.ProposedAt),
		State: string(s.State), Executed: clean(string(s.Executed)), Observation: clean(s.Observation),
		Output: clean(s.Output), Summary: clean(s.Summary), Effect: clean(s.Effect), Code: clean(s.Code),
		Outcome: s.Outcome, Sources: sources, Approval: s.Approval, GrantID: s.Grant, GrantTeam: s.GrantBy.Team, GrantUser: s.GrantBy.User, Contract: s.Contract, Epoch: s.Epoch, Attempts: s.Attempts, Question: clean(s.Question),
		StartedAt: micros(s.StartedAt), EndedAt: micros(s.EndedAt),
	}, err
}

func (w *stepRow) step() (agent.Step, error) {
	s := agent.Step{
		Run: w.Run, N: w.N, Turn: w.Turn, CallID: w.CallID, Tool: w.Tool,
		Thought: w.Thought, Raw: w.Raw, Proposed: raw(w.Proposed), Fingerprint: w.Fingerprint, Extra: raw(w.Extra),
		Risk: tools.Risk(w.Risk), Effects: w.Effects, Private: w.Private, ProposedAt: instant(w.ProposedAt),
		State: agent.StepState(w.State), Executed: raw(w.Executed), Observation: w.Observation, Output: w.Output,
		Summary: w.Summary, Effect: w.Effect, Code: w.Code, Outcome: w.Outcome, Approval: w.Approval, Grant: w.GrantID, GrantBy: policy.Actor{Team: w.GrantTeam, User: w.GrantUser}, Contract: w.Contract, Epoch: w.Epoch,
		Attempts: w.Attempts, Question: w.Question,
		StartedAt: instant(w.StartedAt), EndedAt: instant(w.EndedAt),
	}
	return s, decode(w.Sources, &s.Sources)
}

// inboxRow is a row of inbox.
type inboxRow struct {
	ID         string
	Run        string
	N          int64
	Kind       string
	FromTeam   string
	FromUser   string
	Name       string
	Text       string
	TS         string
	At         int64
	Turn       int
	ConsumedAt int64
}

// TableName names the table.
func (inboxRow) TableName() string { return "inbox" }

func newInboxRow(m *agent.Message, n int64) inboxRow {
	return inboxRow{
		ID: m.ID, Run: m.Run, N: n, Kind: string(m.Kind), FromTeam: m.From.Team, FromUser: m.From.User,
		Name: clean(m.Name), Text: clean(m.Text), TS: m.TS, At: micros(m.At), Turn: m.Turn,
	}
}

func (w *inboxRow) message() agent.Message {
	return agent.Message{
		ID: w.ID, Run: w.Run, Kind: agent.MessageKind(w.Kind), From: policy.Actor{Team: w.FromTeam, User: w.FromUser},
		Name: w.Name, Text: w.Text, TS: w.TS, At: instant(w.At), Turn: w.Turn,
	}
}
