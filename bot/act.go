package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/tools"
)

// checkEdit runs the schema's gate on an edit, so that mistakes stand at their field.
func (b *Bot) checkEdit(c *decisions.Case, raw, lang string) map[string]string {
	schema := b.Tools.Schema(c.Approval.Tool)
	if schema == nil {
		return nil // the door says what is wrong
	}
	_, err := tools.Parse(schema, raw)
	var f *tools.Failure
	if err == nil {
		return nil
	}
	if !errors.As(err, &f) {
		return map[string]string{"reason": err.Error()}
	}
	return map[string]string{fieldOf(f): b.wrong(f, lang)}
}

// wrong says in somebody's language what does not fit.
func (b *Bot) wrong(f *tools.Failure, lang string) string {
	say := b.Words.In(lang)
	broken := f.Breach
	if broken.Rule == "" {
		return say.Say("edit.wrong", "detail", say.Failure(f.Code, f.Message))
	}
	got, want := broken.Got, strings.Join(broken.Want, ", ")
	if broken.Rule == "type" {
		kinds := make([]string, len(broken.Want))
		for i, kind := range broken.Want {
			kinds[i] = say.Say("type." + kind)
		}
		got, want = say.Say("type."+got), strings.Join(kinds, " / ")
	}
	return say.Say("edit.wrong", "detail", say.Say("breach."+broken.Rule, "got", got, "want", want))
}

// act does what a stored click says and ends it. A refusal is told to the person alone.
func (b *Bot) act(ctx context.Context, c Click, thread string) error {
	if isBundle(c.Action) {
		return b.actBundle(ctx, c, thread)
	}
	out, err := b.verdict(ctx, c)
	if err != nil {
		return fmt.Errorf("act on %s: %w", c.Action, err) // the click stays open and is taken up again
	}
	b.Poke()
	outcome := "done"
	if out.Refused != "" {
		outcome = out.Refused
	}
	if err := b.Clicks.EndClick(ctx, c.ID, outcome, b.Now()); err != nil {
		return fmt.Errorf("end click: %w", err)
	}
	if c.Channel == "" { // pressed on Home, which is drawn anew and has no place for a private sentence
		return b.wishHome(ctx, c.Actor.User)
	}
	if out.Refused == "" {
		return nil
	}
	lang := b.langOf(ctx, c.Actor.User)
	return b.whisper(ctx, c.Channel, c.Actor.User, thread, b.Card.Refusal(lang, out.Refused, out.Detail, out.Case))
}

func (b *Bot) verdict(ctx context.Context, c Click) (decisions.Outcome, error) {
	switch c.Action {
	case callGrant, actRevoke:
		return b.grant(ctx, c)
	case callReviewed:
		return b.review(ctx, c, approvals.ReviewDone)
	case callConcern:
		return b.review(ctx, c, approvals.ReviewConcern)
	case actApprove, callShow, callGlass:
		return b.decide(ctx, c, approvals.Approve)
	case callEdit:
		return b.decide(ctx, c, approvals.Edit)
	case callReject:
		return b.decide(ctx, c, approvals.Reject)
	case callRespond:
		return b.decide(ctx, c, approvals.Respond)
	case actClaim:
		return b.Door.Claim(ctx, attempt(c, "claim"))
	case actExtend:
		return b.Door.Extend(ctx, attempt(c, "extend"))
	case actAgain:
		return b.again(ctx, c)
	case actDisown:
		return b.disown(ctx, c)
	case actHappened:
		return b.find(ctx, c, decisions.Happened)
	case actRun:
		return b.find(ctx, c, decisions.RunAgain)
	case actGiveUp:
		return b.find(ctx, c, decisions.GiveUp)
	case actStop:
		return b.stopClicked(ctx, c)
	case actContinue:
		return b.continueClicked(ctx, c)
	}
	return decisions.Outcome{Refused: "bad_button"}, nil
}

func (b *Bot) decide(ctx context.Context, c Click, v approvals.Verdict) (decisions.Outcome, error) {
	var in form
	if len(c.Input) > 0 {
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return decisions.Outcome{Refused: "bad_button"}, nil
		}
	}
	t := decisions.Attempt{
		ID: c.ID, Approval: c.Approval, Revision: c.Revision, Digest: c.Digest, Verdict: v,
		Args: in.Args, Text: in.Text, Who: c.Actor, Via: "slack", Proved: in.Proved, Glass: c.Action == callGlass,
	}
	if v == approvals.Approve || v == approvals.Edit {
		current, err := b.Views.Case(ctx, c.Approval)
		if err != nil && !isGone(err) {
			return decisions.Outcome{}, err
		}
		t.Unseen = err == nil && (v == approvals.Approve && b.Card.Hides(current) || v == approvals.Edit && b.Card.HidesArguments(current))
	}
	return b.Door.Decide(ctx, t)
}

func (b *Bot) find(ctx context.Context, c Click, f decisions.Finding) (decisions.Outcome, error) {
	s := decisions.Settlement{ID: c.ID, Run: c.Run, Step: c.Step, Attempt: c.Revision, Finding: f, Who: c.Actor, Via: "slack"}
	if f == decisions.RunAgain {
		hides, err := b.hides(ctx, c.Run, c.Step)
		if err != nil {
			return decisions.Outcome{}, err
		}
		s.Unseen = hides
	}
	return b.Door.Settle(ctx, s)
}

// hides says whether the card of a step left something of the call to be opened.
func (b *Bot) hides(ctx context.Context, run string, n int) (bool, error) {
	work, err := b.Views.Load(ctx, run)
	if isGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, s := range work.Steps {
		if a := work.Approvals[s.Approval]; s.N == n && a != nil {
			return b.Card.Hides(&decisions.Case{Run: work.Run, Step: s, Approval: *a}), nil
		}
	}
	return false, nil
}

func (b *Bot) stopClicked(ctx context.Context, c Click) (decisions.Outcome, error) {
	work, err := b.Views.Load(ctx, c.Run)
	if isGone(err) {
		return decisions.Outcome{Refused: "nothing_running"}, nil
	}
	if err != nil {
		return decisions.Outcome{}, err
	}
	code, err := b.stopRun(ctx, &work.Run, c.Actor.User, c.ID)
	return decisions.Outcome{Refused: code}, err
}

// continueClicked is the asker's further allowance.
func (b *Bot) continueClicked(ctx context.Context, c Click) (decisions.Outcome, error) {
	work, err := b.Views.Load(ctx, c.Run)
	if isGone(err) {
		return decisions.Outcome{Refused: "nothing_running"}, nil
	}
	if err != nil {
		return decisions.Outcome{}, err
	}
	if work.Run.Asker.User != c.Actor.User && work.Run.Owner.User != c.Actor.User {
		return decisions.Outcome{Refused: "not_asker"}, nil
	}
	err = b.Agent.Tell(ctx, agent.Message{Run: c.Run, Kind: agent.Continue, From: work.Run.Asker, Text: "continue"}, c.ID)
	if errors.Is(err, agent.ErrSettled) {
		return decisions.Outcome{Refused: "nothing_running"}, nil
	}
	return decisions.Outcome{}, err
}

// clickLoop takes up clicks that were stored and not acted upon: the process
// died in between, or what they needed was not to be had.
func (b *Bot) clickLoop(ctx context.Context) error {
	tick := time.NewTicker(clickSweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if b.unfit() != nil {
			continue
		}
		open, err := b.Clicks.OpenClicks(ctx, b.Now().Add(-b.clickGrace()), clickBatch)
		if err != nil {
			b.Logger.WarnContext(ctx, "open clicks cannot be read", "error", err)
			continue
		}
		for _, c := range open {
			if err := b.act(ctx, c, c.MessageTS); err != nil {
				b.Logger.WarnContext(ctx, "a stored click cannot be acted upon yet", "action", c.Action, "error", err)
			}
		}
	}
}

// The click sweep looks each two seconds for clicks that should long have been
// acted upon. Acting twice is harmless: a verdict counts once.
const (
	clickSweep = 2 * time.Second
	clickBatch = 50
)

// clickGrace is how long a stored click is left to the process that took it: five seconds,
// where Slack wants its answers within three.
func (b *Bot) clickGrace() time.Duration { return cmp.Or(b.AckWithin, ackWithin) * 5 / 3 }
