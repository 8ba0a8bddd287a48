package agent

import (
	"context"
	"fmt"
	"time"

	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/id"
)

// Mention is a message of a person that asks for something.
type Mention struct {
	Thread    Thread
	MessageTS string
	Key       string // for deduplication; empty: that of the message
	Asker     policy.Actor
	Name      string // of the asker, decoration
	Text      string
	Language  string
	Origin    string // empty: slack
	Follow    bool   // it carries no mention: it may only reach an unfinished run
}

// Start commits what a mention means and gives the run that it started or
// reached. The same message is accepted once, however often it is delivered.
func (a *Agent) Start(ctx context.Context, m Mention) (Accepted, error) {
	now := a.Now()
	run := Run{
		ID: id.New("r", now), Thread: m.Thread, MessageTS: m.MessageTS, Asker: m.Asker, Request: m.Text,
		Language: m.Language, Origin: orDefault(m.Origin, "slack"), State: Init, Version: a.Prompts.Version(),
		Limits: a.Limits, NextStep: 1, Wake: 1, ReadyAt: now, CreatedAt: now, UpdatedAt: now,
	}
	ctx, span := a.accepting(ctx, &run)
	first := progressWish(&run, now)
	first.Priority = PriorityCard // the asker sees at once that they were heard
	accepted, err := a.Store.Accept(ctx, Incoming{
		Key: orDefault(m.Key, MessageKey(m.Thread, m.MessageTS)), Run: run, Follow: m.Follow, Name: m.Name,
		Wishes: []Wish{first},
		Audit: []audit.Entry{{
			At: now, Kind: "run.started", Run: run.ID, Team: m.Asker.Team, User: m.Asker.User, Via: run.Origin,
			Data: a.data(map[string]any{"request": m.Text, "channel": m.Thread.Channel, "message": m.MessageTS}),
		}},
	})
	if err != nil {
		return Accepted{}, fmt.Errorf("accept message %s: %w", m.MessageTS, err)
	}
	if accepted.Started {
		span.End() // of a message that started nothing, nothing is sent
	}
	return accepted, nil
}

// MessageKey is the dedupe key of a message.
func MessageKey(t Thread, ts string) string {
	return "message/" + t.Installation + "/" + t.Channel + "/" + ts
}

// Tell gives an unfinished run a message that is not a mention: an answer, a
// further allowance, a stop that was already authorised. ErrSettled says that the run has ended.
func (a *Agent) Tell(ctx context.Context, m Message, key string) error {
	if m.ID == "" {
		m.ID = id.New("m", a.Now())
	}
	if m.At.IsZero() {
		m.At = a.Now()
	}
	if err := a.Store.Tell(ctx, m, key); err != nil {
		return fmt.Errorf("tell run %s: %w", m.Run, err)
	}
	return nil
}

// MayStop says whether a person may stop a run: the asker, or anybody who may countersign in it.
func (a *Agent) MayStop(run *Run, who policy.Person, needs []policy.Requirement) bool {
	if run.Speaks(who.Actor) {
		return true
	}
	for _, n := range append(needs, a.Gate.Policy().Default) {
		n.SelfApproval = true // stopping approves nothing
		if n.MayDecide(who, nil) == nil {
			return true
		}
	}
	return false
}

// ProgressSubject names the delivery of a run's progress message.
func ProgressSubject(run string) string { return "run/" + run + "/progress" }

// AnswerSubject names the delivery of a run's answer.
func AnswerSubject(run string) string { return "run/" + run + "/answer" }

// QuestionSubject names the delivery of a step's question or of its unknown outcome.
func QuestionSubject(run string, step int) string {
	return fmt.Sprintf("run/%s/question/%d", run, step)
}

func progressWish(r *Run, now time.Time) Wish {
	return Wish{Subject: ProgressSubject(r.ID), Channel: r.Channel, ThreadTS: r.TS, Priority: PriorityProgress, ReadyAt: now}
}

func answerWish(r *Run, now time.Time) Wish {
	return Wish{Subject: AnswerSubject(r.ID), Channel: r.Channel, ThreadTS: r.TS, Priority: PriorityAnswer, ReadyAt: now}
}

func questionWish(r *Run, step int, now time.Time) Wish {
	return Wish{Subject: QuestionSubject(r.ID, step), Channel: r.Channel, ThreadTS: r.TS, Priority: PriorityCard, ReadyAt: now}
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
