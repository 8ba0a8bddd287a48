package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/id"
)

// Order asks for a run that no message of a person asks for: a schedule's, a hook's,
// a program's.
type Order struct {
	Key          string // dedupe key; empty: every order is a new run
	Installation string
	Channel      string
	Asker        policy.Actor // a service, named kind/name
	Owner        policy.Actor // the person who answers for it: counts as requester, and may speak for the asker
	Origin       string       // api, hook, schedule
	Text         string       // the instruction
	Data         string       // what it is about, quoted as data; empty: nothing
	Language     string
}

// Begin commits an ordered run. It has no thread yet: its root message is posted
// first, and the receipt of that gives the run its thread and its first work. So a
// run is never lost while Slack is away, and never speaks outside of a thread.
func (a *Agent) Begin(ctx context.Context, o Order) (Accepted, error) {
	now := a.Now()
	run := Run{
		ID: id.New("r", now), Asker: o.Asker, Owner: o.Owner, Request: o.Text, Language: o.Language, Origin: o.Origin,
		State: Init, Version: a.Prompts.Version(), Limits: a.Limits, NextStep: 1, ReadyAt: now, CreatedAt: now, UpdatedAt: now,
	}
	run.Thread = Thread{Installation: o.Installation, Channel: o.Channel, TS: rootless + run.ID}
	ctx, span := a.accepting(ctx, &run)
	in := Incoming{
		Key: o.Key, Run: run, Name: o.Asker.User,
		Wishes: []Wish{{Subject: RootSubject(run.ID), Channel: o.Channel, Priority: PriorityCard, ReadyAt: now}},
		Audit: []audit.Entry{{
			At: now, Kind: "run.started", Run: run.ID, Team: o.Asker.Team, User: o.Asker.User, Via: o.Origin,
			Data: a.data(map[string]any{"request": o.Text, "data": o.Data, "channel": o.Channel, "owner": o.Owner.User}),
		}},
	}
	if o.Data != "" {
		in.Quoted = []Message{{
			ID: id.New("m", now), Run: run.ID, Kind: FollowUp, From: policy.Actor{Team: o.Asker.Team, User: "data of " + o.Asker.User}, Text: o.Data, At: now,
		}}
	}
	accepted, err := a.Store.Accept(ctx, in)
	if err != nil {
		return Accepted{}, fmt.Errorf("accept an order of %s: %w", o.Asker.User, err)
	}
	if accepted.Started {
		span.End()
	}
	return accepted, nil
}

// rootless begins the place of a thread that has no message yet; the run's id follows.
const rootless = "root/"

// Rootless says that the run waits for its root message.
func (r *Run) Rootless() bool { return strings.HasPrefix(r.TS, rootless) }

// RootSubject names the delivery of the message that an ordered run's thread hangs on.
func RootSubject(run string) string { return "run/" + run + "/root" }

// RootOf gives the run of a root's delivery.
func RootOf(subject string) (run string, ok bool) {
	run, ok = strings.CutPrefix(subject, "run/")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(run, "/root")
}

// Requester is who counts as the requester of the run's calls.
func (r *Run) Requester() policy.Actor {
	if !r.Owner.Zero() {
		return r.Owner
	}
	return r.Asker
}

// Speaks says whether somebody's words are the run's instructions: the asker's, or
// the owner's of an asker that is no person.
func (r *Run) Speaks(who policy.Actor) bool {
	return who == r.Asker || !r.Owner.Zero() && who == r.Owner
}

// Minute is the part of a schedule's key that tells its firings apart.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02T15:04") }
