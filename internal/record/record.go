package record

import (
	"bytes"
	"encoding/json"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/tools"
)

// Mask hides secrets in a text; nil shows everything.
type Mask func(string) string

// JSON writes a run with everything about it as one JSON document, indented.
// Instants are UTC; durations are nanoseconds, amounts of money millionths of the
// model's currency.
func JSON(w *Whole, mask Mask) ([]byte, error) {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(mask.document(w))
	return out.Bytes(), err
}

func (m Mask) document(w *Whole) document {
	d := document{Run: m.run(&w.Run), Turns: []turnForm{}, Steps: []stepForm{}, Inbox: []messageForm{}, Approvals: []approvalForm{}, Deliveries: []deliveryForm{}, Audit: []Entry{}}
	for i := range w.Turns {
		d.Turns = append(d.Turns, m.turn(&w.Turns[i]))
	}
	for i := range w.Steps {
		d.Steps = append(d.Steps, m.step(&w.Steps[i]))
	}
	for _, x := range w.Inbox {
		d.Inbox = append(d.Inbox, messageForm{ID: x.ID, Kind: string(x.Kind), From: actorForm(x.From), Text: m(x.Text), TS: x.TS, At: x.At.UTC(), Turn: x.Turn})
	}
	for i := range w.Approvals {
		d.Approvals = append(d.Approvals, m.approval(&w.Approvals[i]))
	}
	for _, x := range w.Deliveries {
		d.Deliveries = append(d.Deliveries, delivery(x))
	}
	for _, x := range w.Audit {
		d.Audit = append(d.Audit, EntryOf(x))
	}
	return d
}

func delivery(d bot.Delivery) deliveryForm {
	return deliveryForm{Subject: d.Subject, Channel: d.Channel, TS: d.PostedTS, Wanted: d.Version, Done: d.Done}
}

func (m Mask) run(r *agent.Run) runForm {
	return runForm{
		ID: r.ID, Installation: r.Installation, Channel: r.Channel, ThreadTS: r.TS, MessageTS: r.MessageTS, Asker: actorForm(r.Asker),
		Request: m(r.Request), Language: r.Language, Origin: r.Origin, State: string(r.State), Halt: string(r.Halt), Closing: string(r.Closing),
		Answer: m(r.Answer), System: m(r.System), Prompts: r.Version, Limits: r.Limits, Spent: r.Spent, Counters: m.counters(r.Counters), Plan: r.Plan,
		Wake: r.Wake, Seen: r.Seen, ReadyAt: utc(r.ReadyAt), LeaseOwner: r.Lease.Owner, LeaseUntil: utc(r.Lease.Until), InputBy: utc(r.InputBy),
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), EndedAt: utc(r.EndedAt),
	}
}

func (m Mask) counters(c agent.Counters) agent.Counters {
	c.Rolled.Text = m(c.Rolled.Text)
	return c
}

func (m Mask) turn(t *agent.Turn) turnForm {
	f := turnForm{
		N: t.N, Text: m(t.Text), Reasoning: m(t.Reasoning), Extra: m.json(t.Extra), At: utc(t.At),
		Usage: usageForm{Prompt: t.Usage.Prompt, Completion: t.Usage.Completion, Cached: t.Usage.Cached, Estimated: t.Usage.Estimated},
	}
	for _, n := range t.Notes {
		f.Notes = append(f.Notes, noteForm{Kind: string(n.Kind), From: somebody(n.From), Text: m(n.Text)})
	}
	return f
}

func (m Mask) step(s *agent.Step) stepForm {
	return stepForm{
		N: s.N, Turn: s.Turn, Tool: s.Tool, Risk: string(s.Risk), Effects: s.Effects, Private: s.Private, Thought: m(s.Thought), Raw: m(s.Raw),
		Proposed: m.json(s.Proposed), State: string(s.State), Executed: m.json(s.Executed), Observation: m(s.Observation), Output: m(s.Output),
		Summary: m(s.Summary), Effect: m(s.Effect), Code: s.Code, Question: m(s.Question), Sources: s.Sources, Approval: s.Approval,
		Grant: s.Grant, GrantBy: somebody(s.GrantBy), Fingerprint: s.Fingerprint, Outcome: s.Outcome, Attempts: s.Attempts,
		ProposedAt: utc(s.ProposedAt), StartedAt: utc(s.StartedAt), EndedAt: utc(s.EndedAt),
	}
}

func (m Mask) approval(a *approvals.Approval) approvalForm {
	f := approvalForm{
		ID: a.ID, Step: a.Step, Tool: a.Tool, Risk: string(a.Risk), State: string(a.State), Revision: a.Revision, Requester: actorForm(a.Requester),
		Again: a.Again, Why: m(a.Why), OpenedAt: a.OpenedAt.UTC(), ExpiresAt: a.ExpiresAt.UTC(), SettledAt: utc(a.SettledAt), Revisions: []revisionForm{},
	}
	for _, r := range a.Revisions {
		x := revisionForm{
			N: r.N, Args: m.json(r.Args), Requirement: r.Requirement, Contract: r.Contract, Preview: m.preview(r.Preview), Digest: r.Digest,
			By: somebody(r.By), Reason: m(r.Reason), At: r.At.UTC(),
		}
		f.Revisions = append(f.Revisions, x)
	}
	for _, x := range a.Decisions {
		f.Decisions = append(f.Decisions, decisionForm{
			ID: x.ID, Revision: x.Revision, Verdict: string(x.Verdict), By: actorForm(x.By), Via: x.Via, Reason: m(x.Reason), Void: x.Void, Glass: x.Glass, At: x.At.UTC(),
		})
	}
	if v := a.Review; v != nil {
		f.Review = &reviewForm{Actor: actorForm(v.Actor), OpenedAt: v.OpenedAt.UTC(), State: string(v.State), By: somebody(v.By), Text: m(v.Text), At: utc(v.At)}
	}
	return f
}

// somebody is nil for nobody.
func somebody(a policy.Actor) *actorForm {
	if a.Zero() {
		return nil
	}
	return &actorForm{Team: a.Team, User: a.User}
}

func (m Mask) preview(p *tools.Preview) *tools.Preview {
	if p == nil {
		return nil
	}
	out := tools.Preview{Summary: m(p.Summary), Detail: m(p.Detail), Untried: m(p.Untried)}
	if p.Material != nil {
		out.Material = make(map[string]string, len(p.Material))
		for k, v := range p.Material {
			out.Material[k] = m(v)
		}
	}
	return &out
}

// utc leaves an unset instant unset.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
