package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals/policy"
	"countersign/internal/id"
	"countersign/tools"
)

var errDied = errors.New("the process died here")

// frail is a process's view of the database: it dies at a commit that the history chose.
type frail struct {
	agent.Store
	left   int  // commits until death; negative: it lives
	before bool // it dies before that commit, never after
}

func (f *frail) live() error {
	switch f.left {
	case 0:
		return errDied
	case 1:
		f.left = 0
		return errDied
	}
	if f.left > 0 {
		f.left--
	}
	return nil
}

func (f *frail) Commit(ctx context.Context, fence agent.Fence, c agent.Change) (int64, error) {
	if f.left == 0 {
		return 0, errDied
	}
	if f.left == 1 && !f.before && fence.Epoch%2 == 0 { // sometimes it dies after its commit
		f.left = 0
		if _, err := f.Store.Commit(ctx, fence, c); err != nil {
			return 0, err
		}
		return 0, errDied
	}
	if err := f.live(); err != nil {
		return 0, err
	}
	return f.Store.Commit(ctx, fence, c)
}

// people are everybody in the histories: the asker, three approvers, a stranger.
type people struct{}

func (people) Person(_ context.Context, who policy.Actor, _ bool) (policy.Person, error) {
	p := policy.Person{Actor: who, Standing: policy.Member}
	switch who.User {
	case "U1":
		p.Roles = []string{"manager"} // the asker is a manager too: it must not help
	case "M1", "M2":
		p.Roles = []string{"manager"}
	case "M3":
		p.Roles = []string{"manager", "oncall"}
	case "OUT":
		p.Standing = policy.Outsider
	}
	return p, nil
}

// call is one real call of a tool with effects.
type call struct {
	args     string
	place    int
	happened bool
}

// hand is a tool of the histories.
type hand struct {
	spec tools.Spec
	h    *history
}

func (t hand) Spec() tools.Spec { return t.at(t.h.place) }

// at is the tool where it acted once.
func (t hand) at(place int) tools.Spec {
	s := t.spec
	if s.Effects {
		s.Target = strconv.Itoa(place)
	}
	return s
}

// Call has its effect, or not, and tells so, or not. Others act meanwhile.
func (t hand) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	if !t.spec.Effects { // several at once
		return tools.Result{Text: "looked " + string(c.Args)}, nil
	}
	h := t.h
	fate := h.rand.IntN(6)
	n := len(h.calls[c.Step])
	h.calls[c.Step] = append(h.calls[c.Step], call{args: string(c.Args), place: h.place, happened: fate > 1})
	h.note("%s is called for step %s with %s", t.spec.Name, c.Step, c.Args)
	h.meanwhile()
	switch fate {
	case 0:
		return tools.Result{}, &tools.Failure{Code: "no", Message: "refused by the service"}
	case 1:
		h.calls[c.Step][n].happened = h.rand.IntN(2) == 0
		return tools.Result{}, errors.New("connection lost")
	}
	return tools.Result{Text: fmt.Sprintf("ok %d", h.rand.IntN(3)), Effect: t.spec.Name}, nil
}

// Preview shows the world as it is.
func (t hand) Preview(context.Context, tools.Call) (tools.Preview, error) {
	t.h.meanwhile()
	return tools.Preview{Summary: "it counts", Material: map[string]string{"state": fmt.Sprint(t.h.world)}}, nil
}

// Probe tells the truth about the last call, if anything, and takes its time.
func (t hand) Probe(_ context.Context, c tools.Call) (tools.Probed, error) {
	h := t.h
	all := h.calls[c.Step]
	found := tools.ProbedNot
	if len(all) > 0 && all[len(all)-1].happened {
		found = tools.ProbedHappened
	}
	h.meanwhile()
	if h.rand.IntN(4) > 0 {
		return tools.ProbedUnknown, nil
	}
	return found, nil
}

// model is a random model that checks every request it gets.
type model struct{ h *history }

func (m model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	h := m.h
	h.checkRequest(r)
	h.checkPrefix(r)
	asked := fmt.Sprint(r.Messages)
	if asked == h.answer {
		h.failf("the model is asked what it has just answered")
	}
	h.meanwhile()
	reply, err := m.reply(r)
	if h.answer = asked; err != nil {
		h.answer = ""
	}
	return reply, err
}

func (m model) reply(r llm.Request) (llm.Reply, error) {
	h := m.h
	usage := llm.Usage{Prompt: 10, Completion: 5}
	switch n := h.rand.IntN(16); {
	case n == 0:
		return llm.Reply{}, &llm.Error{Kind: llm.Overloaded, Message: "busy", Usage: usage}
	case n == 1:
		return llm.Reply{}, &llm.Error{Kind: llm.Overflow, Message: "too long"}
	case n == 2:
		return llm.Reply{}, &llm.Error{Kind: llm.Malformed, Message: "unreadable", Usage: usage}
	case n == 3 || len(r.Tools) == 0:
		return llm.Reply{Text: "The answer.", Usage: usage}, nil
	}
	reply := llm.Reply{Text: "Working.", Usage: usage}
	for range 1 + h.rand.IntN(3) {
		name := []string{"look", "note", "wipe", "wipe", "refund", "refund", "nonsense", agent.AskUser}[h.rand.IntN(8)]
		args := fmt.Sprintf(`{"thought":"t","what":"%d"}`, h.rand.IntN(8))
		switch {
		case name == agent.AskUser:
			args = `{"question":"which?"}`
		case h.rand.IntN(8) == 0:
			args = `{"what":`
		}
		reply.Calls = append(reply.Calls, llm.Call{ID: []string{id.Call(), "same", ""}[h.rand.IntN(3)], Name: name, Arguments: args})
	}
	return reply, nil
}

// checkRequest is the strict server's rule: every call has exactly one result, right
// behind it, and no two calls share an id.
func (h *history) checkRequest(r llm.Request) {
	var open, all []string
	for _, m := range r.Messages {
		switch m.Role {
		case llm.Tool:
			at := slices.Index(open, m.CallID)
			if at < 0 || m.Text == "" {
				h.failf("a result without its call, or empty: %+v", m)
			} else {
				open = slices.Delete(open, at, at+1)
			}
		default:
			if len(open) > 0 {
				h.failf("calls without results before %q", m.Text)
			}
		}
		for _, c := range m.Calls {
			if c.ID == "" || slices.Contains(all, c.ID) {
				h.failf("the call's id %q is none, or another's", c.ID)
			}
			open, all = append(open, c.ID), append(all, c.ID)
		}
	}
	if len(open) > 0 {
		h.failf("calls without results at the end: %v", open)
	}
}

// checkPrefix holds a request against the longest one before: what the model was told
// of calls and results stays in place. A worker that was frozen may ask a shorter one.
func (h *history) checkPrefix(r llm.Request) {
	var told []string
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			told = append(told, "call "+c.ID+" "+c.Name+" "+c.Arguments)
		}
		if m.Role == llm.Tool {
			told = append(told, "result "+m.CallID)
		}
	}
	if n := min(len(told), len(h.sent)); !slices.Equal(told[:n], h.sent[:n]) {
		h.failf("the model was told %v and now %v", h.sent, told)
	}
	if len(told) > len(h.sent) {
		h.sent = told
	}
}
