package record_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/internal/audit"
	"countersign/internal/record"
	"countersign/tools"
)

var update = flag.Bool("update", false, "write the golden file")

const secret = "sk-live0123456789abcdef"

func whole() *record.Whole {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.FixedZone("east", 3600))
	ana := policy.Actor{Team: "T1", User: "U1"}
	args := json.RawMessage(`{"id":"doc_42","key":"` + secret + `","size":9007199254740993}`)
	return &record.Whole{
		Run: agent.Run{
			ID: "r1", Thread: agent.Thread{Installation: "T1", Channel: "C1", TS: "1.2"}, MessageTS: "1.2", Asker: ana, Request: "delete doc_42 with " + secret,
			State: agent.Success, Halt: agent.HaltDone, Answer: "done <b>", CreatedAt: at, UpdatedAt: at, EndedAt: at.Add(time.Minute),
		},
		Turns: []agent.Turn{{N: 1, Text: "I delete it", At: at, Usage: llm.Usage{Prompt: 10, Completion: 2}, Notes: []agent.Note{{Kind: agent.NoteSteer, From: ana, Text: "use " + secret}}}},
		Steps: []agent.Step{{
			N: 1, Turn: 1, Tool: "delete_document", Raw: string(args), Proposed: args, Executed: args, State: agent.StepSucceeded, Risk: tools.High, Effects: true,
			Observation: "…", Output: strings.Repeat("all of it ", 3) + secret, Approval: "a1", Attempts: 1, ProposedAt: at, StartedAt: at, EndedAt: at,
		}, {
			N: 2, Turn: 1, Tool: "delete_document", Raw: `{"id":"doc_42"}`, State: agent.StepSucceeded, Risk: tools.High, Effects: true,
			Grant: "g1", GrantBy: policy.Actor{Team: "T1", User: "U2"}, Attempts: 1, ProposedAt: at, StartedAt: at, EndedAt: at,
		}},
		Inbox: []agent.Message{{ID: "m1", Kind: agent.FollowUp, From: ana, Text: secret, At: at, Turn: 1}},
		Approvals: []approvals.Approval{{
			ID: "a1", Step: 1, Tool: "delete_document", Risk: tools.High, State: approvals.Redeemed, Revision: 1, Requester: ana, OpenedAt: at, ExpiresAt: at, SettledAt: at,
			Revisions: []approvals.Revision{{N: 1, Args: args, Digest: "d1", At: at, Preview: &tools.Preview{Summary: "one goes", Material: map[string]string{"key": secret}}}},
			Decisions: []approvals.Decision{{ID: "c1", Revision: 1, Verdict: approvals.Approve, By: policy.Actor{Team: "T1", User: "U2"}, Via: "slack", Reason: secret, At: at}},
		}},
		Deliveries: []bot.Delivery{{Subject: "run/r1/answer", Channel: "C1", PostedTS: "1.3", Version: 1, Done: 1}},
		Audit:      []audit.Entry{{Seq: 1, At: at, Kind: "run.started", Run: "r1", Data: "{}", Hash: "h1"}},
	}
}

// masked plays a masker: the secret's shape, and what stands behind a name.
func masked(s string) string { return strings.ReplaceAll(s, secret, "⟨masked⟩") }

func TestJSON(t *testing.T) {
	t.Parallel()
	got, err := record.JSON(whole(), masked)
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/run.json"
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(got), secret) {
		t.Error("a secret is in the export")
	}
}

func TestRawShowsEverything(t *testing.T) {
	t.Parallel()
	got, err := record.JSON(whole(), nil)
	if n := strings.Count(string(got), secret); err != nil || n != 10 {
		t.Errorf("the secret is there %d times, %v", n, err)
	}
	if !strings.Contains(string(got), "9007199254740993") {
		t.Error("a number lost its digits")
	}
}

// Masking that would break JSON is done text by text, and what is no JSON at all
// becomes a text.
func TestMaskingKeepsJSON(t *testing.T) {
	t.Parallel()
	greedy := func(s string) string { // as a pattern that takes all to the end
		if i := strings.Index(s, "key"); i >= 0 {
			return s[:i] + "⟨masked⟩"
		}
		return s
	}
	for _, raw := range []string{`{"a":"the key is x","b":["key",1e400,{"c":null}]}`, `{"key":"x"}`, `no JSON with a key`, `{"a":`, ``} {
		w := whole()
		w.Steps[0].Proposed = json.RawMessage(raw)
		got, err := record.JSON(w, greedy)
		if err != nil || !json.Valid(got) {
			t.Errorf("%s: %v\n%s", raw, err, got)
		}
	}
}

func TestAnyRunIsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := whole()
		w.Run.Request, w.Run.Answer = rapid.String().Draw(t, "request"), string(rapid.SliceOf(rapid.Byte()).Draw(t, "answer"))
		w.Steps[0].Output, w.Steps[0].Raw = rapid.String().Draw(t, "output"), rapid.String().Draw(t, "raw")
		w.Turns[0].Extra = json.RawMessage(rapid.String().Draw(t, "extra"))
		got, err := record.JSON(w, masked)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%v\n%s", err, got)
		}
	})
}

func TestEntriesComeBack(t *testing.T) {
	t.Parallel()
	e := audit.Entry{Seq: 7, At: time.Date(2026, 3, 2, 12, 0, 0, 123456000, time.Local), Kind: "k", Run: "r", Step: 2, Approval: "a", Revision: 3, Team: "T", User: "U", Via: "cli, x@y", Digest: "d", Data: `{"a":"<&>"}`, Prev: "p"}
	e.Hash = e.Sum()
	line, err := json.Marshal(record.EntryOf(e))
	if err != nil {
		t.Fatal(err)
	}
	var back record.Entry
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Audit(); got.Sum() != e.Hash || got.Hash != e.Hash {
		t.Errorf("%+v came back as %+v", e, got)
	}
}
