package docs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/fsm"
)

// What each state answers to each event, written down once more: a change of a
// table must be meant. An event that a line does not name is not legal there.
const (
	runTable = `
init              begin>planning cancel>cancelled
planning          again>planning calls>executing text>eval approve>waiting_approval input>waiting_input fail>failed cancel>cancelled
executing         results>eval errors>reflect approve>waiting_approval input>waiting_input
eval              again>planning done>success approve>waiting_approval input>waiting_input fail>failed cancel>cancelled
reflect           again>planning approve>waiting_approval input>waiting_input fail>failed cancel>cancelled
waiting_approval  redeem>executing settled>planning input>waiting_input cancel>cancelled
waiting_input     redeem>executing settled>planning approve>waiting_approval fail>failed cancel>cancelled
success
failed
cancelled`
	stepTable = `
proposed   allow>allowed await>awaiting ask>asking refuse>refused cancel>cancelled
allowed    execute>executing await>awaiting refuse>refused cancel>cancelled
awaiting   allow>allowed refuse>refused answer>answered cancel>cancelled
asking     answer>answered refuse>refused cancel>cancelled
executing  succeed>succeeded fail>failed lose>uncertain retake>executing
uncertain  succeed>succeeded execute>executing fail>failed
succeeded
failed
refused
answered
cancelled`
	approvalTable = `
pending     count>pending edit>pending void>pending approve>approved reject>rejected respond>answered expire>expired cancel>cancelled supersede>superseded
approved    redeem>redeemed lapse>lapsed cancel>cancelled void>pending
rejected
answered
expired
cancelled
superseded
redeemed
lapsed`
)

func TestEveryStateWithEveryEvent(t *testing.T) {
	t.Parallel()
	t.Run("run", func(t *testing.T) { exactly(t, agent.RunMachine, runTable) })
	t.Run("step", func(t *testing.T) { exactly(t, agent.StepMachine, stepTable) })
	t.Run("approval", func(t *testing.T) { exactly(t, approvals.Machine, approvalTable) })
}

// exactly fires every event in every state.
func exactly[S ~string](t *testing.T, m fsm.Machine[S], table string) {
	t.Helper()
	wanted, states, edges := read[S](table)
	if got, want := len(m.States()), len(states); got != want {
		t.Errorf("%d states, want %d: %v", got, want, m.States())
	}
	if len(m.Edges) != edges {
		t.Errorf("%d edges, want %d", len(m.Edges), edges)
	}
	for _, from := range states {
		for _, on := range m.Events() {
			to, err := m.Fire(from, on)
			var illegal *fsm.IllegalError
			want, legal := wanted[string(from)+" "+on]
			switch {
			case legal && (err != nil || to != want):
				t.Errorf("%s on %s: %s (%v), want %s", from, on, to, err, want)
			case !legal && (!errors.As(err, &illegal) || to != from):
				t.Errorf("%s on %s: %s (%v), want it refused", from, on, to, err)
			}
		}
	}
}

// read takes a table apart: what follows by "state event", the states, the number of edges.
func read[S ~string](table string) (wanted map[string]S, states []S, edges int) {
	wanted = map[string]S{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		words := strings.Fields(line)
		states = append(states, S(words[0]))
		for _, w := range words[1:] {
			on, to, _ := strings.Cut(w, ">")
			wanted[words[0]+" "+on] = S(to)
			edges++
		}
	}
	return wanted, states, edges
}

// Every state can be reached from the first, and every state that is not an end leads to one.
func TestNoStateIsLostOrStuck(t *testing.T) {
	t.Parallel()
	t.Run("run", func(t *testing.T) { connected(t, agent.RunMachine) })
	t.Run("step", func(t *testing.T) { connected(t, agent.StepMachine) })
	t.Run("approval", func(t *testing.T) { connected(t, approvals.Machine) })
}

func connected[S ~string](t *testing.T, m fsm.Machine[S]) {
	t.Helper()
	first := m.Edges[0].From
	for _, s := range m.States() {
		if s != first && !reaches(m, first, func(x S) bool { return x == s }) {
			t.Errorf("%s cannot be reached", s)
		}
		if !reaches(m, s, m.Terminal) {
			t.Errorf("nothing ends from %s", s)
		}
	}
}

func reaches[S ~string](m fsm.Machine[S], from S, goal func(S) bool) bool {
	seen, next := map[S]bool{}, []S{from}
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		if goal(s) {
			return true
		}
		if seen[s] {
			continue
		}
		seen[s] = true
		for _, e := range m.Edges {
			if e.From == s {
				next = append(next, e.To)
			}
		}
	}
	return false
}

// matrix draws a machine as a table: states down, events across.
func matrix[S ~string](m fsm.Machine[S]) string {
	var b strings.Builder
	events := m.Events()
	fmt.Fprintf(&b, "| | %s |\n|---%s|\n", strings.Join(events, " | "), strings.Repeat("|---", len(events)))
	for _, s := range m.States() {
		if m.Terminal(s) {
			continue
		}
		fmt.Fprintf(&b, "| **%s** |", s)
		for _, on := range events {
			if to, err := m.Fire(s, on); err == nil {
				fmt.Fprintf(&b, " %s |", to)
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
