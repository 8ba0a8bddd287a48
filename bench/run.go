package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/id"
)

// Status says where a run came to rest, as the database has it.
type Status string

// Where a run can rest.
const (
	Done      Status = "done"      // it has ended
	Paused    Status = "paused"    // it waits for a countersignature
	Uncertain Status = "uncertain" // nobody knows whether an effect happened: a person is asked
	Asking    Status = "asking"    // it waits for a word of the asker
	Lost      Status = "lost"      // there is no such run
	Conflict  Status = "conflict"  // the decision did not count: it was decided before
	Working   Status = "working"   // it has work to do, or somebody does it
)

// Outcome is a run's status, and its answer when it has one.
type Outcome struct {
	Status Status
	Final  string
}

// actor is who asks under a name that the caller gave: every run has an asker of
// its own, by whom the database finds it.
func actor(name string) policy.Actor { return policy.Actor{Team: team, User: "U" + name} }

// Start starts a run by its first message and takes it to where it rests.
func (e *Engine) Start(ctx context.Context, name, request string) (Outcome, error) {
	accepted, err := e.agent.Start(ctx, agent.Mention{
		Thread: agent.Thread{Installation: team, Channel: channel, TS: name}, MessageTS: name,
		Asker: actor(name), Text: request, Language: "en", Origin: "bench",
	})
	if err != nil {
		return Outcome{}, err
	}
	if !accepted.Started {
		return Outcome{}, fmt.Errorf("run %s was started before", name)
	}
	return e.rest(ctx, name, accepted.Run)
}

// Decide lets the approver's verdict on the run's open approval in, and takes the
// run on to where it rests. Everything is read from the database.
func (e *Engine) Decide(ctx context.Context, name string, v approvals.Verdict) (Outcome, error) {
	attempt, run, err := e.attempt(ctx, name)
	if err != nil || run == "" {
		return Outcome{Status: Conflict}, err
	}
	attempt.Verdict = v
	out, err := e.door.Decide(ctx, attempt)
	if err != nil {
		return Outcome{}, err
	}
	if out.Refused != "" {
		return Outcome{Status: Conflict}, nil
	}
	return e.rest(ctx, name, run)
}

// attempt is the click on what the card shows now; no run when there is nothing to
// click on.
func (e *Engine) attempt(ctx context.Context, name string) (decisions.Attempt, string, error) {
	r, err := e.find(ctx, name)
	if err != nil || r == nil {
		return decisions.Attempt{}, "", err
	}
	w, err := e.store.Load(ctx, r.ID)
	if err != nil {
		return decisions.Attempt{}, "", err
	}
	for _, a := range w.Approvals {
		if a.State == approvals.Pending {
			now := time.Now()
			return decisions.Attempt{
				ID: id.New("d", now), Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest,
				Who: policy.Actor{Team: team, User: approver}, Via: "bench",
			}, r.ID, nil
		}
	}
	return decisions.Attempt{}, "", nil
}

// Recover goes on with a run of a process that died: it waits until the dead
// process's lease has run out, as the sweep does.
func (e *Engine) Recover(ctx context.Context, name string) (Outcome, error) {
	r, err := e.find(ctx, name)
	if err != nil {
		return Outcome{}, err
	}
	if r == nil {
		return Outcome{Status: Lost}, nil
	}
	return e.rest(ctx, name, r.ID)
}

// State says what the database says of a run.
func (e *Engine) State(ctx context.Context, name string) (Outcome, error) {
	r, err := e.find(ctx, name)
	if err != nil {
		return Outcome{}, err
	}
	return e.outcome(ctx, r)
}

// find gives the run of a name, nil when there is none.
func (e *Engine) find(ctx context.Context, name string) (*agent.Run, error) {
	runs, err := e.store.RunsOf(ctx, team, actor(name), 1)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}

// rest takes a run to where it rests. Whoever else holds its lease is waited for.
func (e *Engine) rest(ctx context.Context, name, run string) (Outcome, error) {
	advanced, forget := e.watch(run)
	defer forget()
	for {
		if e.queue == nil {
			if err := e.agent.Advance(ctx, run); err != nil {
				return Outcome{}, err
			}
		}
		r, err := e.find(ctx, name)
		if err != nil {
			return Outcome{}, err
		}
		if r == nil {
			return Outcome{}, errors.New("the run is gone")
		}
		out, err := e.outcome(ctx, r)
		if err != nil || out.Status != Working {
			return out, err
		}
		if err := await(ctx, advanced, until(r, e.queue != nil)); err != nil {
			return Outcome{}, err
		}
	}
}

// until is how long nothing can be done for a run that has work.
func until(r *agent.Run, queued bool) time.Duration {
	wait := max(time.Until(r.Lease.Until), time.Until(r.ReadyAt))
	if queued {
		return max(wait, time.Second) // the queue says when it has advanced
	}
	return wait
}

func await(ctx context.Context, advanced <-chan struct{}, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait + time.Millisecond)
	defer timer.Stop()
	select {
	case <-advanced:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// outcome says where a run stands.
func (e *Engine) outcome(ctx context.Context, r *agent.Run) (Outcome, error) {
	switch {
	case r == nil:
		return Outcome{Status: Lost}, nil
	case agent.RunMachine.Terminal(r.State):
		return Outcome{Status: Done, Final: r.Answer}, nil
	case r.Lease.Owner == "" && r.State == agent.WaitingApproval && r.Wake <= r.Seen:
		return Outcome{Status: Paused}, nil
	case r.Lease.Owner == "" && r.State == agent.WaitingInput && r.ReadyAt.After(time.Now()):
		return e.asked(ctx, r.ID)
	}
	return Outcome{Status: Working}, nil
}

// asked says what a run that waits for a word waits for.
func (e *Engine) asked(ctx context.Context, run string) (Outcome, error) {
	w, err := e.store.Load(ctx, run)
	if err != nil {
		return Outcome{}, err
	}
	for i := range w.Steps {
		if w.Steps[i].State == agent.StepUncertain {
			return Outcome{Status: Uncertain}, nil
		}
	}
	return Outcome{Status: Asking}, nil
}
