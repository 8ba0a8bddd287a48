package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/card"
	"countersign/bot/socket"
)

// isBundle says that a button or form is about several calls at once.
func isBundle(action string) bool {
	return slices.Contains([]string{actBundle, actBundleReject, callBundle, callBundleReject}, action)
}

// renderBundle draws the message about calls that one press may decide together.
func (b *Bot) renderBundle(ctx context.Context, d Delivery, run string, rest []string) (*card.Message, time.Time, error) {
	cases, err := b.bundle(ctx, run, rest)
	if err != nil || len(cases) == 0 {
		return nil, time.Time{}, err
	}
	r := &cases[0].Run
	m := b.Card.Bundle(cases, b.where(b.lang(r), r.TS))
	m.Meta.Subject = d.Subject
	if d.PostedTS == "" && !hasButtons(&m) {
		return nil, time.Time{}, nil // all of it was over before it was shown
	}
	return &m, time.Time{}, nil
}

func (b *Bot) bundle(ctx context.Context, run string, rest []string) ([]decisions.Case, error) {
	if len(rest) < 2 {
		return nil, nil
	}
	first, err := strconv.Atoi(rest[1])
	if err != nil {
		return nil, nil
	}
	return b.Marks.Bundle(ctx, run, first)
}

// fillBundle fills the form that decides several calls. What it shows in full counts
// as opened from then on.
func (b *Bot) fillBundle(ctx context.Context, viewID, action, user string, meta card.ModalMeta) error {
	lang := b.langOf(ctx, user)
	cases, err := b.Marks.Bundle(ctx, meta.Run, meta.Step)
	if err != nil {
		return err
	}
	live := card.Together(cases)
	if len(live) < 2 {
		return b.setView(ctx, viewID, b.Card.Note(lang, "bundle_over", "", nil))
	}
	for _, c := range live {
		if !b.maySee(ctx, c, user) {
			return b.setView(ctx, viewID, b.Card.Note(lang, "only_deciders", "", c))
		}
	}
	v, fits := b.Card.BundleRejectModal(live, lang), true
	if action == actBundle {
		v, fits = b.Card.BundleModal(live, lang)
	}
	if !fits {
		return b.setView(ctx, viewID, b.Card.Note(lang, "bundle_unfit", "", nil))
	}
	v.PrivateMetadata = b.Card.BundleMeta(live, meta)
	if err := b.setView(ctx, viewID, v); err != nil || action != actBundle {
		return err
	}
	return b.opened(ctx, user, lang, live, v)
}

// opened notes that somebody was shown everything of these calls.
func (b *Bot) opened(ctx context.Context, user, lang string, live []*decisions.Case, v slack.ModalViewRequest) error {
	for _, c := range live {
		if err := b.saw(ctx, c, user, lang, v); err != nil {
			return fmt.Errorf("note that everything was shown: %w", err)
		}
	}
	return nil
}

// submittedBundle handles a form that decides several calls: one code for all of
// them, one stored press, and then a verdict on each.
func (b *Bot) submittedBundle(ctx context.Context, p *pressed, meta card.ModalMeta) socket.Response {
	ctx, cancel := context.WithTimeout(ctx, b.storeTimeout())
	defer cancel()
	lang := b.knownLang(p.User.ID)
	cases, err := b.Marks.Bundle(ctx, meta.Run, meta.Step)
	if err != nil {
		return b.formNotSaved(p, err)
	}
	live := unchanged(cases, meta.Calls)
	if len(cases) == 0 { // the run was forgotten while the form was open
		return replaced(b.Card.SettledModal(nil, map[string]string{"reason": reasonOf(p.View)}, lang))
	}
	if len(live) == 0 {
		return replaced(b.Card.SettledModal(&cases[0], map[string]string{"reason": reasonOf(p.View)}, lang))
	}
	proved := false
	if p.View.Callback == callBundle && slices.ContainsFunc(live, func(c *decisions.Case) bool { return c.Approval.Current().Requirement.StepUp != "" }) {
		var refusal string
		if proved, refusal = b.prove(ctx, p); refusal != "" {
			return formErrors(map[string]string{"code": b.Words.In(lang).Say(refusal)})
		}
	}
	input, err := json.Marshal(form{Text: reasonOf(p.View), Proved: proved, Calls: meta.Calls})
	if err != nil {
		return b.formNotSaved(p, err)
	}
	return b.keepForm(ctx, p, meta, Click{
		Run: meta.Run, Step: meta.Step, Input: input,
	})
}

// unchanged are those that stand as the form showed them.
func unchanged(cases []decisions.Case, shown []card.Button) []*decisions.Case {
	var out []*decisions.Case
	for _, c := range card.Together(cases) {
		a := &c.Approval
		if slices.Contains(shown, card.Button{Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest}) {
			out = append(out, c)
		}
	}
	return out
}

// actBundle gives a verdict on each call that a form showed, one after the other:
// each counts or not by itself, and the person is told which did not.
func (b *Bot) actBundle(ctx context.Context, c Click, thread string) error {
	verdict := approvals.Approve
	if c.Action == callBundleReject {
		verdict = approvals.Reject
	}
	var in form
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return b.Clicks.EndClick(ctx, c.ID, "bad_button", b.Now())
	}
	var not []card.NotCounted
	for _, call := range in.Calls {
		out, err := b.decideOneOf(ctx, c, in, call, verdict)
		if err != nil {
			return fmt.Errorf("act on %s: %w", c.Action, err) // those that counted are known by their ids
		}
		if out.Refused != "" {
			not = append(not, card.NotCounted{Case: out.Case, Refused: out.Refused, Detail: out.Detail})
		}
	}
	b.Poke()
	if err := b.Clicks.EndClick(ctx, c.ID, fmt.Sprintf("done: %d of %d", len(in.Calls)-len(not), len(in.Calls)), b.Now()); err != nil {
		return fmt.Errorf("end click: %w", err)
	}
	if len(not) == 0 || c.Channel == "" {
		return nil
	}
	return b.whisper(ctx, c.Channel, c.Actor.User, thread, b.Card.BundleRefusal(b.langOf(ctx, c.Actor.User), len(in.Calls), not))
}

func (b *Bot) decideOneOf(ctx context.Context, c Click, in form, call card.Button, v approvals.Verdict) (decisions.Outcome, error) {
	t := decisions.Attempt{
		ID: c.ID + "/" + call.Approval, Approval: call.Approval, Revision: call.Revision, Digest: call.Digest, Verdict: v,
		Text: in.Text, Who: c.Actor, Via: "slack", Proved: in.Proved, Together: len(in.Calls),
	}
	current, err := b.Views.Case(ctx, call.Approval)
	if err != nil && !isGone(err) {
		return decisions.Outcome{}, err
	}
	if err == nil && slices.ContainsFunc(current.Approval.Decisions, func(d approvals.Decision) bool { return d.ID == t.ID }) {
		return decisions.Outcome{Case: current}, nil // it counted before the process died
	}
	t.Unseen = err == nil && v == approvals.Approve && b.Card.Hides(current)
	return b.Door.Decide(ctx, t)
}
