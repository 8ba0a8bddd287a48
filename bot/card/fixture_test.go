package card_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
	"countersign/bot/slacktext"
	"countersign/bot/words"
	"countersign/localslack/blockkit"
	"countersign/tools"
)

var (
	began   = time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC)
	ana     = policy.Actor{Team: "T1", User: "UANA"}   // asks
	ben     = policy.Actor{Team: "T1", User: "UBEN"}   // may decide
	carla   = policy.Actor{Team: "T1", User: "UCARLA"} // may decide
	manager = policy.Requirement{Approvers: []string{"manager"}, Quorum: 1, TTL: time.Hour, EditApproves: true}
)

func at(d time.Duration) time.Time { return began.Add(d) }

const refundSchema = `{"type":"object","properties":{
 "order_id":{"type":"string","maxLength":40,"description":"Which order."},
 "amount":{"type":"number","exclusiveMinimum":0},
 "notify":{"type":"boolean"},
 "reason":{"type":"string"},
 "speed":{"type":"string","enum":["slow","fast"]},
 "due":{"type":"string","format":"date"},
 "count":{"type":"integer"},
 "tags":{"type":"array","items":{"type":"string"}},
 "level":{"type":"integer","enum":[1,2,3]}
},"required":["order_id","amount","tags"]}`

func renderer(t testing.TB) *card.Renderer {
	t.Helper()
	catalogue, err := words.Load()
	if err != nil {
		t.Fatal(err)
	}
	masker, err := slacktext.NewMasker(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &card.Renderer{
		Words: catalogue, Masker: masker,
		Schema: func(tool string) json.RawMessage {
			if tool == "refund" {
				return json.RawMessage(refundSchema)
			}
			return nil
		},
		Private: func(tool string) bool { return tool == "shop_execute" },
		Safe:    func(s *agent.Step) time.Time { return s.StartedAt.Add(16 * time.Second) },
	}
}

func where(lang string) card.Where { return card.Where{Lang: lang, Now: at(5 * time.Minute)} }

// opened is a pending approval of one call.
func opened(t testing.TB, tool, args string, change ...func(*approvals.Opening)) *decisions.Case {
	t.Helper()
	o := approvals.Opening{
		ID: "a1", Run: "r1", Step: 3, Spec: tools.Spec{Name: tool}, Risk: tools.High, Channel: "C1", ThreadTS: "1700000000.000100",
		Requester: ana, Args: json.RawMessage(args), Contract: "contract", Needs: manager, Now: at(time.Minute),
		Preview: &tools.Preview{Summary: "POST /orders/1042/refund", Detail: "POST https://shop.internal/orders/1042/refund\n\n{\n  \"amount\": 20\n}"},
	}
	for _, f := range change {
		f(&o)
	}
	a, err := approvals.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &decisions.Case{Run: run("Please refund order 1042, the parcel never came."), Approval: a}
	c.Run.State = agent.WaitingApproval
	c.Step = agent.Step{
		Run: "r1", N: 3, Turn: 2, Tool: tool, Thought: "The parcel is lost, so the customer gets the money back.", Proposed: json.RawMessage(args), Risk: tools.High, Effects: true,
		State: agent.StepAwaiting, Approval: "a1", ProposedAt: at(time.Minute),
	}
	return c
}

func refund(t testing.TB) *decisions.Case {
	return opened(t, "refund", `{"amount":20,"notify":true,"order_id":"1042","reason":"lost parcel","tags":["vip"]}`)
}

func run(request string) agent.Run {
	return agent.Run{
		ID: "r1", Thread: agent.Thread{Installation: "T1", Channel: "C1", TS: "1700000000.000100"}, MessageTS: "1700000000.000100",
		Asker: ana, Request: request, Language: "en", State: agent.Planning, CreatedAt: began, NextStep: 1,
		Limits: agent.Limits{MaxSteps: 10, MaxTokens: 50000, MaxActive: time.Minute},
	}
}

// decided settles the approval by one decision.
func decided(c *decisions.Case, state approvals.State, v approvals.Verdict, by policy.Actor, reason string) *decisions.Case {
	c.Approval.State, c.Approval.SettledAt = state, at(4*time.Minute)
	c.Approval.Decisions = append(c.Approval.Decisions, approvals.Decision{
		ID: "d", Approval: "a1", Revision: c.Approval.Revision, Verdict: v, By: by, Reason: reason, Via: "slack", At: at(4 * time.Minute),
	})
	return c
}

// ran is what became of the call after its approval was redeemed.
func ran(c *decisions.Case, state agent.StepState, summary string) *decisions.Case {
	decided(c, approvals.Redeemed, approvals.Approve, ben, "")
	c.Step.State, c.Step.Executed, c.Step.Summary = state, c.Approval.Current().Args, summary
	c.Step.StartedAt, c.Step.EndedAt = at(4*time.Minute), at(4*time.Minute+400*time.Millisecond)
	return c
}

// edited gives the approval a second revision.
func edited(t testing.TB, c *decisions.Case, args, reason string) *decisions.Case {
	t.Helper()
	a := &c.Approval
	r := approvals.Revision{N: 2, Args: json.RawMessage(args), Requirement: a.Current().Requirement, Contract: "contract", Preview: a.Current().Preview, By: ben, Reason: reason, At: at(3 * time.Minute)}
	digest, err := a.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Digest = digest
	a.Revisions, a.Revision = append(a.Revisions, r), 2
	a.Decisions = append(a.Decisions, approvals.Decision{ID: "e", Approval: "a1", Revision: 2, Verdict: approvals.Edit, By: ben, Reason: reason, Via: "slack", At: at(3 * time.Minute)})
	return c
}

func quorum(n int) func(*approvals.Opening) {
	return func(o *approvals.Opening) {
		o.Needs.Quorum, o.Needs.Approvers, o.Needs.EditApproves = n, []string{"finance", "manager"}, true
	}
}

func preview(v *tools.Preview) func(*approvals.Opening) {
	return func(o *approvals.Opening) { o.Preview = v }
}

// accepted fails unless both our own check and local Slack's take the message.
func accepted(t testing.TB, m card.Message) {
	t.Helper()
	if err := card.Check(m); err != nil {
		t.Fatalf("%v\n%s", err, pretty(t, m.Blocks))
	}
	if p := blockkit.Check(marshal(t, m.Blocks), blockkit.Message); p != nil {
		t.Fatalf("Slack refuses the message: %v\n%s", p, pretty(t, m.Blocks))
	}
}

func acceptedModal(t testing.TB, v slack.ModalViewRequest) {
	t.Helper()
	if err := card.CheckModal(v); err != nil {
		t.Fatalf("%v\n%s", err, pretty(t, v))
	}
	if p := blockkit.CheckView(marshal(t, v), blockkit.Modal); p != nil {
		t.Fatalf("Slack refuses the modal: %v\n%s", p, pretty(t, v))
	}
}

func marshal(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func pretty(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
