package record

import (
	"encoding/json"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/tools"
)

// document is the exported form. Its field names are stable.
type document struct {
	Run        runForm        `json:"run"`
	Turns      []turnForm     `json:"turns"`
	Steps      []stepForm     `json:"steps"`
	Inbox      []messageForm  `json:"inbox"`
	Approvals  []approvalForm `json:"approvals"`
	Deliveries []deliveryForm `json:"deliveries"`
	Audit      []Entry        `json:"audit"`
}

type actorForm struct {
	Team string `json:"team"`
	User string `json:"user"`
}

type runForm struct {
	ID           string           `json:"id"`
	Installation string           `json:"installation"`
	Channel      string           `json:"channel"`
	ThreadTS     string           `json:"thread_ts"`
	MessageTS    string           `json:"message_ts"`
	Asker        actorForm        `json:"asker"`
	Request      string           `json:"request"`
	Language     string           `json:"language"`
	Origin       string           `json:"origin"`
	State        string           `json:"state"`
	Halt         string           `json:"halt,omitempty"`
	Closing      string           `json:"closing,omitempty"`
	Answer       string           `json:"answer,omitempty"`
	System       string           `json:"system"`
	Prompts      string           `json:"prompts"`
	Limits       agent.Limits     `json:"limits"`
	Spent        agent.Spent      `json:"spent"`
	Counters     agent.Counters   `json:"counters"`
	Plan         []agent.PlanItem `json:"plan,omitempty"`
	Wake         int64            `json:"wake"`
	Seen         int64            `json:"seen"`
	ReadyAt      time.Time        `json:"ready_at,omitzero"`
	LeaseOwner   string           `json:"lease_owner,omitempty"`
	LeaseUntil   time.Time        `json:"lease_until,omitzero"`
	InputBy      time.Time        `json:"input_by,omitzero"`
	CreatedAt    time.Time        `json:"created_at"`
	UpdatedAt    time.Time        `json:"updated_at"`
	EndedAt      time.Time        `json:"ended_at,omitzero"`
}

type turnForm struct {
	N         int             `json:"n"`
	Notes     []noteForm      `json:"notes,omitempty"`
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
	Usage     usageForm       `json:"usage"`
	At        time.Time       `json:"at,omitzero"`
}

type noteForm struct {
	Kind string     `json:"kind"`
	From *actorForm `json:"from,omitempty"`
	Text string     `json:"text"`
}

type usageForm struct {
	Prompt     int  `json:"prompt"`
	Completion int  `json:"completion"`
	Cached     int  `json:"cached"`
	Estimated  bool `json:"estimated,omitempty"`
}

type stepForm struct {
	N           int             `json:"n"`
	Turn        int             `json:"turn"`
	Tool        string          `json:"tool"`
	Risk        string          `json:"risk"`
	Effects     bool            `json:"effects"`
	Private     bool            `json:"private,omitempty"`
	Thought     string          `json:"thought,omitempty"`
	Raw         string          `json:"raw"`
	Proposed    json.RawMessage `json:"proposed,omitempty"`
	State       string          `json:"state"`
	Executed    json.RawMessage `json:"executed,omitempty"`
	Observation string          `json:"observation,omitempty"`
	Output      string          `json:"output,omitempty"`
	Summary     string          `json:"summary,omitempty"`
	Effect      string          `json:"effect,omitempty"`
	Code        string          `json:"code,omitempty"`
	Question    string          `json:"question,omitempty"`
	Sources     []string        `json:"sources,omitempty"`
	Approval    string          `json:"approval,omitempty"`
	Grant       string          `json:"grant,omitempty"`
	GrantBy     *actorForm      `json:"grant_by,omitempty"`
	Fingerprint string          `json:"fingerprint,omitempty"`
	Outcome     string          `json:"outcome,omitempty"`
	Attempts    int             `json:"attempts"`
	ProposedAt  time.Time       `json:"proposed_at,omitzero"`
	StartedAt   time.Time       `json:"started_at,omitzero"`
	EndedAt     time.Time       `json:"ended_at,omitzero"`
}

type messageForm struct {
	ID   string    `json:"id"`
	Kind string    `json:"kind"`
	From actorForm `json:"from"`
	Text string    `json:"text"`
	TS   string    `json:"ts,omitempty"`
	At   time.Time `json:"at"`
	Turn int       `json:"turn,omitempty"`
}

type approvalForm struct {
	ID        string         `json:"id"`
	Step      int            `json:"step"`
	Tool      string         `json:"tool"`
	Risk      string         `json:"risk"`
	State     string         `json:"state"`
	Revision  int            `json:"revision"`
	Requester actorForm      `json:"requester"`
	Again     string         `json:"again,omitempty"`
	Why       string         `json:"why,omitempty"`
	OpenedAt  time.Time      `json:"opened_at"`
	ExpiresAt time.Time      `json:"expires_at"`
	SettledAt time.Time      `json:"settled_at,omitzero"`
	Revisions []revisionForm `json:"revisions"`
	Decisions []decisionForm `json:"decisions,omitempty"`
	Review    *reviewForm    `json:"review,omitempty"`
}

type reviewForm struct {
	Actor    actorForm  `json:"actor"`
	OpenedAt time.Time  `json:"opened_at"`
	State    string     `json:"state"`
	By       *actorForm `json:"by,omitempty"`
	Text     string     `json:"text,omitempty"`
	At       time.Time  `json:"at,omitzero"`
}

type revisionForm struct {
	N           int                `json:"n"`
	Args        json.RawMessage    `json:"args"`
	Requirement policy.Requirement `json:"requirement"`
	Contract    string             `json:"contract"`
	Preview     *tools.Preview     `json:"preview,omitempty"`
	Digest      string             `json:"digest"`
	By          *actorForm         `json:"by,omitempty"`
	Reason      string             `json:"reason,omitempty"`
	At          time.Time          `json:"at"`
}

type decisionForm struct {
	ID       string    `json:"id"`
	Revision int       `json:"revision"`
	Verdict  string    `json:"verdict"`
	By       actorForm `json:"by"`
	Via      string    `json:"via"`
	Reason   string    `json:"reason,omitempty"`
	Void     bool      `json:"void,omitempty"`
	Glass    bool      `json:"glass,omitempty"`
	At       time.Time `json:"at"`
}

type deliveryForm struct {
	Subject string `json:"subject"`
	Channel string `json:"channel"`
	TS      string `json:"ts,omitempty"`
	Wanted  int64  `json:"wanted"`
	Done    int64  `json:"done"`
}
