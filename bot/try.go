package bot

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/tools"
)

// trialTime is how long a submitted edit waits for the tool's own opinion: less than the
// database leaves of the time in which Slack wants its answer, 800 ms of three seconds.
func (b *Bot) trialTime() time.Duration { return cmp.Or(b.AckWithin, ackWithin) * 4 / 15 }

// tryEdit lets the tool look at an edit before the form closes, as the door will: what is
// wrong with one argument stands at its field. It decides nothing: without an answer in
// time, or where no argument is to blame, the door says what is wrong. Only an edit
// of somebody who may decide is looked at, so that nobody else makes a tool read.
func (b *Bot) tryEdit(ctx context.Context, c *decisions.Case, raw, user string) *tools.Failure {
	ctx, cancel := context.WithTimeout(ctx, b.trialTime())
	defer cancel()
	a := &c.Approval
	editor, err := b.Directory.Person(ctx, b.actor(user), false)
	if err != nil || a.Needs().MayDecide(editor, a.Requesters()) != nil {
		return nil
	}
	asker, err := b.Directory.Person(ctx, c.Run.Asker, false)
	if err != nil {
		return nil
	}
	step := strconv.Itoa(a.Step)
	passed := b.Agent.Gate.Check(ctx, agent.Proposal{Run: a.Run, Step: step, Tool: a.Tool, Raw: raw, Asker: asker, Channel: c.Run.Channel, Read: c.Read})
	f := passed.Refusal
	if f == nil {
		_, f = b.Agent.Gate.Preview(ctx, passed.Tool, tools.Call{Run: a.Run, Step: step, Asker: c.Run.Asker.User, Args: passed.Args})
	}
	if f == nil || f.Pointer == "" || ctx.Err() != nil {
		return nil
	}
	return f
}

// fieldOf names the field of a form that a failure is about.
func fieldOf(f *tools.Failure) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
	if name == "" {
		return "reason"
	}
	return "arg:" + strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}
