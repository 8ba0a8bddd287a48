package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/card"
	"countersign/bot/socket"
)

// Action and callback ids, which people automate against.
const (
	actApprove  = "approval_approve"
	actEdit     = "approval_edit"
	actReject   = "approval_reject"
	actRespond  = "approval_respond"
	actShow     = "approval_show"
	actClaim    = "approval_claim"
	actExtend   = "approval_extend"
	actAgain    = "approval_again"
	actDisown   = "decision_disown"
	actStop     = "run_stop"
	actContinue = "run_continue"
	actHappened = "uncertain_happened"
	actRun      = "uncertain_run"
	actGiveUp   = "uncertain_stop"

	actGrant        = "grant_open"
	actRevoke       = "grant_revoke"
	actGlass        = "glass_break"
	actReviewed     = "review_ok"
	actConcern      = "review_concern"
	actBundle       = "bundle_approve"
	actBundleReject = "bundle_reject"

	callShow    = "approval_show_modal"
	callEdit    = "approval_edit_modal"
	callReject  = "approval_reject_modal"
	callRespond = "approval_respond_modal"

	callGrant        = "grant_modal"
	callGlass        = "glass_modal"
	callReviewed     = "review_ok_modal"
	callConcern      = "review_concern_modal"
	callBundle       = "bundle_approve_modal"
	callBundleReject = "bundle_reject_modal"
)

// pressed is an interaction, as far as it is needed. Authority is the user alone;
// what the button or the view carries are keys for looking things up.
type pressed struct {
	Type      string `json:"type"`
	AppID     string `json:"api_app_id"`
	TriggerID string `json:"trigger_id"`
	Response  string `json:"response_url"` // a bearer secret: never stored, never logged
	User      struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Container struct {
		Type      string `json:"type"`
		ChannelID string `json:"channel_id"`
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
	} `json:"container"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Actions []struct {
		ActionID string `json:"action_id"`
		Value    string `json:"value"`
		TS       string `json:"action_ts"`
	} `json:"actions"`
	View *view `json:"view"`
}

type view struct {
	ID       string `json:"id"`
	Callback string `json:"callback_id"`
	Private  string `json:"private_metadata"`
	State    struct {
		Values map[string]map[string]slack.BlockAction `json:"values"`
	} `json:"state"`
}

// ackWithin is the usual Config.AckWithin.
const ackWithin = 3 * time.Second

// storeTimeout is how long a click may take to be stored: two thirds of the time after
// which Slack shows the person an error.
func (b *Bot) storeTimeout() time.Duration { return cmp.Or(b.AckWithin, ackWithin) * 2 / 3 }

// interaction handles a click or a form.
func (b *Bot) interaction(ctx context.Context, e socket.Envelope) socket.Response {
	var p pressed
	if json.Unmarshal(e.Payload, &p) != nil || p.User.ID == "" {
		return socket.Response{Ack: true}
	}
	if b.Self.App != "" && p.AppID != "" && p.AppID != b.Self.App {
		return socket.Response{Ack: true}
	}
	switch p.Type {
	case "block_actions":
		return b.pressed(ctx, &p)
	case "view_submission":
		return b.submitted(ctx, &p)
	}
	return socket.Response{Ack: true}
}

// where the answer to a press belongs.
func (p *pressed) channel() string {
	if p.Container.ChannelID != "" {
		return p.Container.ChannelID
	}
	return p.Channel.ID
}

func (p *pressed) thread() string {
	if p.Container.ThreadTS != "" {
		return p.Container.ThreadTS
	}
	return p.Container.MessageTS
}

// pressed handles one button. Exactly one known action with a readable value is
// a press; anything else gets one private sentence.
func (b *Bot) pressed(ctx context.Context, p *pressed) socket.Response {
	if len(p.Actions) != 1 {
		return b.noButton(p)
	}
	a := p.Actions[0]
	button, err := card.ParseButton(a.Value)
	if err != nil {
		return b.noButton(p)
	}
	click := Click{
		ID: "click/" + p.User.ID + "/" + p.Container.MessageTS + "/" + a.ActionID + "/" + a.TS + "/" + button.Digest, Action: a.ActionID, Actor: b.actor(p.User.ID),
		Channel: p.channel(), MessageTS: p.Container.MessageTS, Run: button.Run, Step: button.Step, Approval: button.Approval,
		Revision: button.Revision, Digest: button.Digest, Input: revoking(button), At: b.Now(),
	}
	switch a.ActionID {
	case actApprove, actClaim, actExtend, actAgain, actDisown, actHappened, actRun, actGiveUp, actStop, actContinue, actRevoke:
		return b.keepClick(ctx, p, click)
	case actEdit, actReject, actRespond, actShow, actBundle, actBundleReject, actGlass, actReviewed, actConcern, actGrant:
		return b.openForm(p, a.ActionID, button)
	}
	return b.noButton(p)
}

// keepClick stores a press and acknowledges it; what it does follows.
func (b *Bot) keepClick(ctx context.Context, p *pressed, c Click) socket.Response {
	ctx, cancel := context.WithTimeout(ctx, b.storeTimeout())
	defer cancel()
	fresh, err := b.Clicks.SaveClick(ctx, c)
	if err != nil {
		b.Logger.WarnContext(ctx, "a click could not be stored", "action", c.Action, "error", err)
		b.notSaved(p, c, err)
		return socket.Response{}
	}
	if fresh {
		b.background("click", callTimeout, func(ctx context.Context) error { return b.act(ctx, c, p.thread()) })
	}
	return socket.Response{Ack: true}
}

// notSaved tells the person to press again. The response_url goes first, because it
// needs no membership; neither way needs our database. A press that may have been stored
// is taken back before, long before the click sweep looks at it.
func (b *Bot) notSaved(p *pressed, c Click, why error) {
	url, at := p.Response, place{channel: p.channel(), user: p.User.ID, thread: p.Container.ThreadTS}
	b.background("not saved", callTimeout, func(ctx context.Context) error {
		key := saidOf(b.takenBack(ctx, c, why, b.storeTimeout()))
		text := b.Card.Refusal(b.langOf(ctx, at.user), key, "", nil)
		return b.respond(ctx, url, at, card.Message{Text: text})
	})
}

// takenBack gives the error of a click that was not stored. One that may have been stored
// all the same is taken back; what stays ErrUnsure may still count.
func (b *Bot) takenBack(ctx context.Context, c Click, why error, within time.Duration) error {
	if !errors.Is(why, ErrUnsure) {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	back, err := b.Clicks.TakeBack(ctx, c)
	if err == nil && back {
		return errTakenBack
	}
	b.Logger.WarnContext(ctx, "a click that may have been stored could not be taken back", "action", c.Action, "error", err)
	return why
}

var errTakenBack = errors.New("it was taken back, because the answer to storing it got lost")

// saidOf is what somebody is told whose click could not be stored.
func saidOf(err error) string {
	if errors.Is(err, ErrUnsure) {
		return "maybe_saved"
	}
	return "not_saved"
}

func (b *Bot) noButton(p *pressed) socket.Response {
	b.background("unknown button", callTimeout, func(ctx context.Context) error {
		if p.channel() == "" {
			return nil
		}
		return b.whisper(ctx, p.channel(), p.User.ID, p.thread(), b.Card.Refusal(b.langOf(ctx, p.User.ID), "bad_button", "", nil))
	})
	return socket.Response{Ack: true}
}

func (b *Bot) where(lang, thread string) card.Where {
	return card.Where{Lang: lang, Now: b.Now(), Thread: thread}
}

func isGone(err error) bool { return errors.Is(err, agent.ErrNotFound) }
