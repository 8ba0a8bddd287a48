package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/id"
	"countersign/tools"
)

// People and places of the tests.
const (
	Team    = "T1"
	Channel = "C1"
	Root    = "1700000000.000100"
)

// Asker is the person whose runs they are.
func Asker() policy.Actor { return policy.Actor{Team: Team, User: "U1"} }

// Thread is the conversation of the runs.
func Thread() agent.Thread { return agent.Thread{Installation: Team, Channel: Channel, TS: Root} }

// Mention is a message of the asker that starts a run or reaches one.
func Mention(key string, now time.Time) agent.Incoming {
	run := agent.Run{
		ID: id.New("r", now), Thread: Thread(), MessageTS: key, Asker: Asker(), Request: "delete document doc_42",
		Language: "en", Origin: "slack", State: agent.Init, Version: "1", NextStep: 1, Wake: 1, ReadyAt: now,
		Limits: agent.Limits{MaxSteps: 10, InputTTL: time.Hour}, CreatedAt: now, UpdatedAt: now,
	}
	return agent.Incoming{
		Key: "message/" + key, Run: run, Name: "Ana",
		Wishes: []agent.Wish{{Subject: agent.ProgressSubject(run.ID), Channel: Channel, ThreadTS: Root, Priority: agent.PriorityProgress, ReadyAt: now}},
		Audit:  []audit.Entry{{At: now, Kind: "run.started", Run: run.ID, Team: Team, User: "U1", Via: "slack", Data: "{}"}},
	}
}

// Start starts a run of the asker.
func (db *DB) Start(t *testing.T, key string) string {
	t.Helper()
	return db.started(t, Mention(key, db.Clock.Now()))
}

func (db *DB) started(t *testing.T, in agent.Incoming) string {
	t.Helper()
	got, err := db.Accept(t.Context(), in)
	if err != nil || !got.Started {
		t.Fatalf("start %q: %+v, %v", in.Key, got, err)
	}
	return got.Run
}

// Claimed takes a run's lease for ten seconds and gives the fence of its commits.
func (db *DB) Claimed(t *testing.T, run, owner string) (agent.Run, agent.Fence) {
	t.Helper()
	now := db.Clock.Now()
	r, err := db.Claim(t.Context(), run, agent.Lease{Owner: owner, Until: now.Add(10 * time.Second)}, now)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	if r == nil {
		t.Fatalf("claim of %s by %s: not due", run, owner)
	}
	return *r, agent.Fence{Run: run, Owner: owner, Epoch: r.Lease.Epoch, Wake: r.Wake, Now: now}
}

// Step is a proposed call of a HIGH tool.
func Step(run string, n int, now time.Time) agent.Step {
	args := json.RawMessage(`{"id":"doc_42"}`)
	return agent.Step{
		Run: run, N: n, Turn: 1, CallID: id.Call(), Tool: "delete_document", Thought: "It was asked for.",
		Raw: `{"id": "doc_42"}`, Proposed: args, Fingerprint: tools.Fingerprint("delete_document", args),
		Risk: tools.High, Effects: true, State: agent.StepAwaiting, ProposedAt: now,
	}
}

// Approval is the request to countersign a step.
func Approval(run string, step int, now time.Time) approvals.Approval {
	return approvals.Approval{
		ID: id.New("a", now), Run: run, Step: step, Tool: "delete_document", Risk: tools.High, Channel: Channel,
		ThreadTS: Root, State: approvals.Pending, Revision: 1, Version: 1, OpenedAt: now, ExpiresAt: now.Add(time.Hour),
		Requester: Asker(), Revisions: []approvals.Revision{{
			N: 1, Args: json.RawMessage(`{"id":"doc_42"}`), Contract: "contract", Digest: "digest", At: now,
			Requirement: policy.Requirement{Approvers: []string{"manager"}, Quorum: 1, TTL: time.Hour},
			Preview:     &tools.Preview{Summary: "1 document would go", Material: map[string]string{"size": "7"}},
		}},
	}
}

// Awaiting brings a run to where it waits for a countersignature of its step 1.
func (db *DB) Awaiting(t *testing.T, key string) (run string, approval approvals.Approval) {
	t.Helper()
	a := db.AwaitingIn(t, Mention(key, db.Clock.Now()))
	return a.Run, a
}

// AwaitingIn is Awaiting for a message of any place.
func (db *DB) AwaitingIn(t *testing.T, in agent.Incoming) approvals.Approval {
	t.Helper()
	run := db.started(t, in)
	r, f := db.Claimed(t, run, "worker")
	now := db.Clock.Now()
	step, a := Step(run, 1, now), Approval(run, 1, now)
	step.Approval = a.ID
	r.State, r.Halt, r.Turns, r.NextStep = agent.WaitingApproval, agent.HaltApproval, 1, 2
	_, err := db.Commit(t.Context(), f, agent.Change{
		Run: &r, Park: true, Turn: &agent.Turn{Run: run, N: 1, At: now}, NewSteps: []agent.Step{step},
		Open: []approvals.Approval{a}, Audit: []audit.Entry{{Kind: "approval.opened", Run: run, Approval: a.ID}},
	})
	if err != nil {
		t.Fatalf("park: %v", err)
	}
	db.Bell.Take()
	return a
}
