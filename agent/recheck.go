package agent

import (
	"context"
	"errors"
	"fmt"

	"countersign/approvals/policy"
	"countersign/tools"
)

// recheck passes calls that an earlier worker left allowed through the gate once more:
// whoever runs the program may have made its rules stricter before it went on.
func (w *worker) recheck(ctx context.Context) error {
	found := w.found
	w.found = 0
	for i := range w.steps[:found] {
		s := &w.steps[i]
		if s.State != StepAllowed || s.Approval != "" || s.Grant != "" {
			continue
		}
		if err := w.recheckOne(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) recheckOne(ctx context.Context, s *Step) error {
	p, err := w.asNow(ctx, s, s.Proposed)
	switch {
	case err != nil:
		return err
	case p.Refusal != nil:
		return w.refuseNow(ctx, s, p.Refusal)
	case p.Spec.Effects != s.Effects:
		return w.refuseNow(ctx, s, toolChanged())
	case !w.free(s, p):
		return w.askAfterAll(ctx, s, p)
	}
	s.Contract = p.Contract
	return nil
}

func toolChanged() *tools.Failure {
	return &tools.Failure{Code: "changed", Message: "the tool changed meanwhile; nothing was called, call it again"}
}

// free says that nobody has to countersign a call, and that a rule which counts what it
// lets through was paid for it.
func (w *worker) free(s *Step, p Passed) bool {
	return p.Ruling.Outcome == policy.Run && (p.Ruling.Budget == nil || w.paid[s.N] == p.Ruling.Budget.Key)
}

// AskerGone is why nothing is done for somebody who is known no more.
func AskerGone() *tools.Failure {
	return &tools.Failure{Code: "not_allowed", Message: "whoever asked is not known any more, so nothing is done in their name"}
}

// who says who asks. Somebody who is known no more has no rights, and nothing is said of
// anybody while that cannot be found out.
func (w *worker) who(ctx context.Context) (policy.Person, error) {
	person, err := w.a.Directory.Person(ctx, w.run.Asker, false)
	if errors.Is(err, ErrNobody) {
		return policy.Person{Actor: w.run.Asker}, nil
	}
	if err != nil {
		return person, fmt.Errorf("look up the asker: %w", err)
	}
	return person, nil
}

// asNow passes a call through the gate as if it were proposed now.
func (w *worker) asNow(ctx context.Context, s *Step, args []byte) (Passed, error) {
	person, err := w.a.Directory.Person(ctx, w.run.Asker, true)
	if errors.Is(err, ErrNobody) {
		return Passed{Refusal: AskerGone()}, nil
	}
	if err != nil {
		return Passed{}, fmt.Errorf("look up the asker: %w", err)
	}
	return w.a.Gate.Check(ctx, Proposal{
		Run: w.run.ID, Step: w.call(s, nil, nil).Step, Tool: s.Tool, Raw: string(args), Asker: person, Channel: w.run.Channel, Read: w.privateSources(),
	}), nil
}
