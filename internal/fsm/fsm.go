// Package fsm holds the state tables' common form: machines are data, checked
// when they are used and drawn into the documents from the same data.
package fsm

import (
	"fmt"
	"slices"
	"strings"
)

// Edge is one legal transition.
type Edge[S ~string] struct {
	From S
	On   string // the event, one word or two
	To   S
}

// Machine is a state table. The first edge starts in the initial state.
type Machine[S ~string] struct {
	Name  string
	Edges []Edge[S]
}

// IllegalError says that an event is not legal in a state.
type IllegalError struct {
	Machine, State, Event string
}

// Error names the machine, the state and the event.
func (e *IllegalError) Error() string {
	return fmt.Sprintf("%s: %q is not legal in state %q", e.Machine, e.Event, e.State)
}

// Fire gives the state after an event, or an *IllegalError.
func (m Machine[S]) Fire(from S, on string) (S, error) {
	for _, e := range m.Edges {
		if e.From == from && e.On == on {
			return e.To, nil
		}
	}
	return from, &IllegalError{Machine: m.Name, State: string(from), Event: on}
}

// Can says whether some event leads from one state to another.
func (m Machine[S]) Can(from, to S) bool {
	return slices.ContainsFunc(m.Edges, func(e Edge[S]) bool { return e.From == from && e.To == to })
}

// Terminal says that nothing leads out of a state.
func (m Machine[S]) Terminal(s S) bool {
	return !slices.ContainsFunc(m.Edges, func(e Edge[S]) bool { return e.From == s })
}

// States lists every state in order of first appearance.
func (m Machine[S]) States() []S {
	var out []S
	for _, e := range m.Edges {
		for _, s := range []S{e.From, e.To} {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Events lists every event in order of first appearance.
func (m Machine[S]) Events() []string {
	var out []string
	for _, e := range m.Edges {
		if !slices.Contains(out, e.On) {
			out = append(out, e.On)
		}
	}
	return out
}

// Mermaid draws the machine as a Mermaid state diagram.
func (m Machine[S]) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	fmt.Fprintf(&b, "    [*] --> %s\n", m.Edges[0].From)
	for _, e := range m.Edges {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", e.From, e.To, e.On)
	}
	for _, s := range m.States() {
		if m.Terminal(s) {
			fmt.Fprintf(&b, "    %s --> [*]\n", s)
		}
	}
	return b.String()
}
