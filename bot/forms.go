package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot/card"
	"countersign/bot/socket"
	"countersign/tools"
)

// openForm opens a form for a press: an empty one at once, because the trigger
// lives three seconds, then filled from the database.
func (b *Bot) openForm(p *pressed, action string, button card.Button) socket.Response {
	meta := card.ModalMeta{Button: button, Channel: p.channel(), MessageTS: p.Container.MessageTS, ThreadTS: p.thread()}
	trigger, user := p.TriggerID, p.User.ID
	b.background("form", callTimeout, func(ctx context.Context) error {
		opened, err := b.API.OpenViewContext(ctx, trigger, b.Card.Loading(b.knownLang(user), "loading"))
		if err != nil {
			return fmt.Errorf("open a form: %w", err)
		}
		filled := b.filling(opened.ID)
		defer filled()
		return b.fillForm(ctx, opened.ID, action, user, meta)
	})
	return socket.Response{Ack: true}
}

// filling remembers that a form is being filled until the function is called.
func (b *Bot) filling(view string) (filled func()) {
	done := make(chan struct{})
	b.forms.Store(view, done)
	return func() { b.forms.Delete(view); close(done) }
}

// filled waits until what follows the filling of a form is stored: somebody may submit
// it before Slack's answer to its last update has come back.
func (b *Bot) filled(ctx context.Context, view string) {
	kept, _ := b.forms.Load(view)
	done, ok := kept.(chan struct{})
	if !ok {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (b *Bot) fillForm(ctx context.Context, viewID, action, user string, meta card.ModalMeta) error {
	if isBundle(action) {
		return b.fillBundle(ctx, viewID, action, user, meta)
	}
	lang := b.langOf(ctx, user)
	c, err := b.Views.Case(ctx, meta.Approval)
	if isGone(err) {
		return b.setView(ctx, viewID, b.Card.SettledModal(nil, nil, lang))
	}
	if err != nil {
		return err
	}
	if isReview(action) {
		return b.setView(ctx, viewID, b.reviewForm(c, action, lang, meta))
	}
	if action == actGrant {
		return b.setView(ctx, viewID, b.grantForm(ctx, c, user, meta))
	}
	v := b.form(ctx, c, action, user, meta)
	if err := b.setView(ctx, viewID, v); err != nil || v.CallbackID != callShow && v.CallbackID != callGlass {
		return err
	}
	// That somebody was shown everything is a row, without which their approval of a
	// card that hides something does not count. It is true from here on.
	if err := b.saw(ctx, c, user, lang, v); err != nil {
		return fmt.Errorf("store an opening: %w", err)
	}
	return nil
}

// form draws the form that a press asks for, or says what happened meanwhile.
func (b *Bot) form(ctx context.Context, c *decisions.Case, action, user string, meta card.ModalMeta) slack.ModalViewRequest {
	lang := b.langOf(ctx, user)
	if c.Approval.State != approvals.Pending || meta.Revision != c.Approval.Revision || meta.Digest != c.Approval.Current().Digest {
		return b.Card.SettledModal(c, nil, lang)
	}
	if !b.maySee(ctx, c, user) {
		return b.Card.Note(lang, "only_deciders", "", c)
	}
	if c.Fixed() && (action == actEdit || action == actRespond) {
		return b.Card.Note(lang, "fixed_call", "", c)
	}
	if action == actEdit && b.Door.OtherTool(c) {
		if said, other := b.otherTool(ctx, user, lang, meta); other {
			return said
		}
	}
	if action == actEdit && b.unopened(ctx, c, user) {
		return b.Card.Note(lang, "unseen", "", c)
	}
	v, fits := b.drawForm(c, action, lang)
	if !fits {
		return b.Card.Note(lang, "unfit", "", c)
	}
	return carrying(v, meta)
}

// unopened says that an edit of somebody would not count: it approves, and they have not
// opened what the card does not show.
func (b *Bot) unopened(ctx context.Context, c *decisions.Case, user string) bool {
	if !c.Approval.Needs().EditApproves || !b.Card.HidesArguments(c) {
		return false
	}
	opened, err := b.Door.Opened(ctx, &c.Approval, b.actor(user))
	if err != nil {
		b.Logger.WarnContext(ctx, "openings cannot be read", "approval", c.Approval.ID, "error", err)
	}
	return !opened
}

// otherTool is what somebody reads who wants to edit a call of what is another tool by now:
// the door asks anew at once, before they have typed anything. It is false when the door
// finds the tool of the card.
func (b *Bot) otherTool(ctx context.Context, user, lang string, meta card.ModalMeta) (said slack.ModalViewRequest, other bool) {
	out, err := b.Door.Renew(ctx, decisions.Attempt{
		Approval: meta.Approval, Revision: meta.Revision, Digest: meta.Digest, Who: b.actor(user), Via: "slack",
	})
	if err != nil {
		b.Logger.WarnContext(ctx, "a card of another tool cannot be replaced", "approval", meta.Approval, "error", err)
		return b.Card.Note(lang, "not_saved", "", nil), true
	}
	b.Poke()
	return b.Card.Note(lang, out.Refused, out.Detail, out.Case), out.Refused != ""
}

// carrying gives a form what its submission needs to find its approval.
func carrying(v slack.ModalViewRequest, meta card.ModalMeta) slack.ModalViewRequest {
	if private, err := json.Marshal(meta); err == nil {
		v.PrivateMetadata = string(private)
	}
	return v
}

func (b *Bot) drawForm(c *decisions.Case, action, lang string) (slack.ModalViewRequest, bool) {
	switch action {
	case actEdit:
		return b.Card.EditModal(c, lang)
	case actReject:
		return b.Card.RejectModal(c, lang), true
	case actRespond:
		return b.Card.RespondModal(c, lang), true
	case actGlass:
		return b.Card.GlassModal(c, lang)
	}
	return b.Card.ShowModal(c, lang)
}

// maySee says whether a form may show a person the values: private ones and
// secrets are for people who may decide, and for the asker who gave them.
func (b *Bot) maySee(ctx context.Context, c *decisions.Case, user string) bool {
	if !b.Card.Guarded(c) || user == c.Run.Asker.User {
		return true
	}
	person, err := b.Directory.Person(ctx, b.actor(user), true)
	needs := c.Approval.Needs()
	return err == nil && (needs.MayDecide(person, nil) == nil || needs.MayBreakGlass(person, nil) == nil)
}

func (b *Bot) setView(ctx context.Context, id string, v slack.ModalViewRequest) error {
	if _, err := b.API.UpdateViewContext(ctx, v, "", "", id); err != nil {
		return fmt.Errorf("fill a form: %w", err)
	}
	return nil
}

// submitted handles a form. It is checked from the database alone; whether the
// person may decide is looked up after the acknowledgement.
func (b *Bot) submitted(ctx context.Context, p *pressed) socket.Response {
	if p.View == nil {
		return socket.Response{Ack: true}
	}
	meta, err := card.ParseModalMeta(p.View.Private)
	if err == nil && len(meta.Calls) > 0 && isBundle(p.View.Callback) {
		return b.submittedBundle(ctx, p, meta)
	}
	if err != nil || meta.Approval == "" {
		return socket.Response{Ack: true}
	}
	ctx, cancel := context.WithTimeout(ctx, b.storeTimeout())
	defer cancel()
	c, err := b.Views.Case(ctx, meta.Approval)
	if err != nil {
		return b.formNotSaved(p, err)
	}
	if p.View.Callback == callGrant {
		return b.submittedGrant(ctx, p, meta, c)
	}
	if isReview(p.View.Callback) {
		return b.submittedReview(ctx, p, meta)
	}
	edit := p.View.Callback == callEdit
	other := edit && b.Door.OtherTool(c)
	raw, typed, errs := b.typedIn(p.View, c, b.knownLang(p.User.ID))
	if stale(c, meta) {
		return replaced(b.Card.SettledModal(c, typed, b.knownLang(p.User.ID)))
	}
	switch {
	case other || edit && b.Door.OtherTool(c): // for which nothing here was typed: the door says so
		raw, errs = "", nil
	case edit && len(errs) == 0:
		errs = b.tried(ctx, p, c, raw)
	}
	if len(errs) > 0 {
		return formErrors(errs)
	}
	proved, refusal := b.proof(ctx, p, c)
	if refusal != "" {
		return formErrors(map[string]string{"code": b.Words.In(b.knownLang(p.User.ID)).Say(refusal)})
	}
	return b.keepForm(ctx, p, meta, Click{
		Approval: meta.Approval, Revision: meta.Revision, Digest: meta.Digest, Input: formInput(p.View, raw, proved),
	})
}

// tried says at its field what the tool itself finds wrong with an edit.
func (b *Bot) tried(ctx context.Context, p *pressed, c *decisions.Case, raw string) map[string]string {
	f := b.tryEdit(ctx, c, raw, p.User.ID)
	if f == nil {
		return nil
	}
	field := fieldOf(f)
	if p.View.State.Values[field] == nil {
		return nil // the form has no such field: the door says it
	}
	return map[string]string{field: b.wrong(f, b.knownLang(p.User.ID))}
}

// keepForm stores a form and acknowledges it; what it does follows. One that comes twice
// with the same words is one; with others, after it could not be saved, it is another.
func (b *Bot) keepForm(ctx context.Context, p *pressed, meta card.ModalMeta, click Click) socket.Response {
	click.ID = "form/" + p.User.ID + "/" + p.View.ID + "/" + tools.Digest("form", meta.Digest, string(click.Input))[:32]
	click.Action, click.Actor, click.At = p.View.Callback, b.actor(p.User.ID), b.Now()
	click.Channel, click.MessageTS = meta.Channel, meta.MessageTS
	fresh, err := b.Clicks.SaveClick(ctx, click)
	if err != nil {
		return b.formNotSaved(p, b.takenBack(ctx, click, err, b.storeTimeout()/4)) // which leaves Slack some of its time
	}
	if fresh {
		view := p.View.ID
		b.background("form", callTimeout, func(ctx context.Context) error {
			b.filled(ctx, view)
			return b.act(ctx, click, meta.ThreadTS)
		})
	}
	return socket.Response{Ack: true}
}

func stale(c *decisions.Case, meta card.ModalMeta) bool {
	a := &c.Approval
	return a.State != approvals.Pending || a.Revision != meta.Revision || a.Current().Digest != meta.Digest
}

// typedIn reads an edit form; the others have a reason alone.
func (b *Bot) typedIn(v *view, c *decisions.Case, lang string) (raw string, typed, errs map[string]string) {
	if v.Callback == callEdit {
		raw, typed, errs = b.Card.Typed(c, v.State.Values, lang)
		if len(errs) == 0 {
			errs = b.checkEdit(c, raw, lang)
		}
		return raw, typed, errs
	}
	reason := reasonOf(v)
	if (v.Callback == callRespond || v.Callback == callGlass) && strings.TrimSpace(reason) == "" {
		return "", nil, map[string]string{"reason": b.Words.In(lang).Say("empty")}
	}
	return "", map[string]string{"reason": reason}, nil
}

func reasonOf(v *view) string {
	for _, a := range v.State.Values["reason"] {
		return a.Value
	}
	return ""
}

type form struct {
	Args string `json:"args,omitempty"`
	Text string `json:"text,omitempty"`
	// Proved says that a one-time code was right. The code itself is stored nowhere.
	Proved bool `json:"proved,omitempty"`
	// Calls are those that the form decides together.
	Calls []card.Button `json:"calls,omitempty"`
	// Granted is what a standing grant is for, Grant the one that a press takes back.
	Granted *card.Granted `json:"granted,omitempty"`
	Grant   string        `json:"grant,omitempty"`
}

// proof checks the one-time code of a form that asks for one. It takes the database
// alone, so that a wrong one is said at its field.
func (b *Bot) proof(ctx context.Context, p *pressed, c *decisions.Case) (proved bool, refusal string) {
	needs := c.Approval.Current().Requirement
	if p.View.Callback == callGlass {
		return b.prove(ctx, p)
	}
	if needs.StepUp == "" || p.View.Callback != callShow && (p.View.Callback != callEdit || !needs.EditApproves) {
		return false, ""
	}
	return b.prove(ctx, p)
}

// prove checks the code that stands in a form.
func (b *Bot) prove(ctx context.Context, p *pressed) (proved bool, refusal string) {
	code := ""
	for _, a := range p.View.State.Values["code"] {
		code = a.Value
	}
	refusal, err := b.Door.Prove(ctx, b.actor(p.User.ID), code)
	if err != nil {
		b.Logger.WarnContext(ctx, "a code could not be checked", "error", err)
		return false, "not_saved"
	}
	return refusal == "", refusal
}

func formInput(v *view, raw string, proved bool) json.RawMessage {
	input, err := json.Marshal(form{Args: raw, Text: reasonOf(v), Proved: proved})
	if err != nil {
		return nil
	}
	return input
}

// replaced answers a form with another view.
func replaced(v slack.ModalViewRequest) socket.Response {
	return socket.Response{Ack: true, Payload: map[string]any{"response_action": "update", "view": v}}
}

func formErrors(errs map[string]string) socket.Response {
	return socket.Response{Ack: true, Payload: map[string]any{"response_action": "errors", "errors": errs}}
}

// formNotSaved keeps the form open, so that nothing typed is lost.
func (b *Bot) formNotSaved(p *pressed, err error) socket.Response {
	if isGone(err) {
		return replaced(b.Card.SettledModal(nil, nil, b.knownLang(p.User.ID)))
	}
	b.Logger.Warn("a form could not be stored", "callback", p.View.Callback, "error", err)
	for block := range p.View.State.Values {
		return formErrors(map[string]string{block: b.Words.In(b.knownLang(p.User.ID)).Say(saidOf(err))})
	}
	return socket.Response{}
}

var _ agent.Directory = (*Directory)(nil)
