package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/fault"
)

func TestCodeAndMessage(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp: password=hunter2")
	cases := []struct {
		name    string
		err     error
		code    fault.Code
		message string
	}{
		{"nil", nil, "", ""},
		{"plain error tells nothing", cause, fault.Internal, "Something went wrong on our side; the details are in the log."},
		{"fault", fault.New(fault.NotFound, "There is no run %s.", "r1"), fault.NotFound, "There is no run r1."},
		{"cause stays out of the message", fault.Wrap(cause, fault.Unavailable, "Slack does not answer."), fault.Unavailable, "Slack does not answer."},
		{"wrapped once more", fmt.Errorf("load: %w", fault.New(fault.Conflict, "Already decided.")), fault.Conflict, "Already decided."},
		{"outermost fault wins", fault.Wrap(fault.New(fault.NotFound, "inner"), fault.Forbidden, "outer"), fault.Forbidden, "outer"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.CodeOf(c.err); got != c.code {
				t.Errorf("code = %q, want %q", got, c.code)
			}
			if got := fault.Message(c.err); got != c.message {
				t.Errorf("message = %q, want %q", got, c.message)
			}
		})
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	cause := errors.New("row locked")
	err := fmt.Errorf("decide: %w", fault.Wrap(cause, fault.Conflict, "Already decided."))
	if !errors.Is(err, cause) {
		t.Error("the cause is not reachable")
	}
	if !errors.Is(err, &fault.Error{Code: fault.Conflict}) {
		t.Error("the code alone does not match")
	}
	if errors.Is(err, &fault.Error{Code: fault.NotFound}) {
		t.Error("another code matches")
	}
	if errors.Is(err, &fault.Error{Code: fault.Conflict, Message: "Other."}) {
		t.Error("another message matches")
	}
	if !strings.Contains(err.Error(), "row locked") {
		t.Error("the log text lacks the cause")
	}
}
