package bot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/card"
)

// metadataType is the event type of our message metadata.
const metadataType = "countersign"

// send posts or edits one message, within Slack's limits.
func (b *Bot) send(ctx context.Context, d Delivery, msg *card.Message, hash string) Receipt {
	if isPerson(d.Channel) {
		return b.sendDirect(ctx, d, msg, hash)
	}
	if d.PostedTS == "" && d.Intended {
		ts, err := b.findLost(ctx, d)
		if closedPlace(err) {
			return b.elsewhere(ctx, d, msg, hash, err)
		}
		if err != nil {
			return b.failed(d, "", err)
		}
		d.PostedTS = ts
	}
	if d.PostedTS != "" {
		return b.update(ctx, d, msg, hash)
	}
	return b.post(ctx, d, msg, hash)
}

func (b *Bot) post(ctx context.Context, d Delivery, msg *card.Message, hash string) Receipt {
	at, leave := b.pace(ctx, lane{methodPost, d.Channel}, b.Gaps.Post, isUrgent(d))
	if leave == nil {
		return Receipt{RetryAt: at}
	}
	if err := b.Outbox.Intend(ctx, d, b.Now()); err != nil {
		leave()
		return b.failed(d, "", err)
	}
	place, ts, err := b.API.PostMessageContext(ctx, d.Channel, b.options(d, msg, true)...)
	leave()
	if isPrivate(d.Subject) && (closedPlace(err) || said(err, "cannot_dm_bot", "messages_tab_disabled")) {
		return b.whisperAnswer(ctx, d, msg, hash, err.Error())
	}
	if closedPlace(err) {
		return b.elsewhere(ctx, d, msg, hash, err)
	}
	if err != nil {
		return b.failed(d, methodPost, err)
	}
	b.noteProgress(d)
	r := Receipt{Version: d.Version, PostedTS: ts, Hash: hash}
	if isPerson(d.Channel) {
		r.Channel, d.Channel = place, place
	}
	return r
}

func (b *Bot) update(ctx context.Context, d Delivery, msg *card.Message, hash string) Receipt {
	at, leave := b.pace(ctx, lane{method: methodUpdate}, b.Gaps.Update, isUrgent(d))
	if leave == nil {
		return Receipt{PostedTS: d.PostedTS, Hash: d.Hash, RetryAt: at}
	}
	_, _, _, err := b.API.UpdateMessageContext(ctx, d.Channel, d.PostedTS, b.options(d, msg, false)...)
	leave()
	switch {
	case said(err, "message_not_found"):
		return b.vanished(ctx, d, msg, hash)
	case closedPlace(err):
		return b.elsewhere(ctx, d, msg, hash, err)
	case err != nil:
		return b.failed(d, methodUpdate, err)
	}
	b.noteProgress(d)
	return Receipt{Version: d.Version, PostedTS: d.PostedTS, Hash: hash}
}

// The methods whose limits all replicas share.
const (
	methodPost   = "chat.postMessage"
	methodUpdate = "chat.update"
	methodHome   = "views.publish"
	methodLater  = "later" // no method of Slack: what nobody waits for, whatever it takes
)

// vanished: somebody deleted the message. What still waits for people is posted
// again; what is settled stays deleted.
func (b *Bot) vanished(ctx context.Context, d Delivery, msg *card.Message, hash string) Receipt {
	if isProgress(d.Subject) || !hasButtons(msg) {
		return Receipt{Version: d.Version, Gone: true}
	}
	d.PostedTS = ""
	return b.post(ctx, d, msg, hash)
}

func hasButtons(msg *card.Message) bool {
	for _, block := range msg.Blocks {
		if block.BlockType() == slack.MBTAction {
			return true
		}
	}
	return false
}

// options say everything explicitly: an edit keeps what is left out.
func (b *Bot) options(d Delivery, msg *card.Message, first bool) []slack.MsgOption {
	o := []slack.MsgOption{
		slack.MsgOptionText(msg.Text, false), slack.MsgOptionBlocks(msg.Blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(), slack.MsgOptionParse(false),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metadataType, EventPayload: payload(msg.Meta, d.Subject)}),
	}
	if first && d.ThreadTS != "" {
		o = append(o, slack.MsgOptionTS(d.ThreadTS))
	}
	return o
}

func payload(m card.Meta, subject string) map[string]any {
	p := map[string]any{"subject": subject, "run": m.Run}
	if m.Approval != "" {
		p["approval"], p["revision"] = m.Approval, m.Revision
	}
	return p
}

// findLost looks for a message that may have been posted although its answer was lost.
func (b *Bot) findLost(ctx context.Context, d Delivery) (string, error) {
	messages, err := b.around(ctx, d)
	if err != nil {
		return "", err
	}
	for i := range messages {
		m := &messages[i]
		subject, _ := m.Metadata.EventPayload["subject"].(string)
		if m.User == b.Self.User && m.Metadata.EventType == metadataType && sameSubject(subject, d.Subject) {
			return m.Timestamp, nil
		}
	}
	return "", nil
}

// sameSubject tells messages of one channel apart. A card is known by its approval:
// the channel in its name may have had another id when it was posted.
func sameSubject(a, b string) bool {
	x, _, isCard := strings.Cut(a, "/card/")
	y, _, alike := strings.Cut(b, "/card/")
	return a == b || isCard && alike && x == y
}

// around lists what was said since the message was first wanted.
func (b *Bot) around(ctx context.Context, d Delivery) ([]slack.Message, error) {
	since := fmt.Sprintf("%d.000000", d.Since.Add(-clockSlack).Unix())
	if d.ThreadTS != "" {
		messages, _, _, err := b.API.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: d.Channel, Timestamp: d.ThreadTS, Oldest: since, Limit: mostLooked, IncludeAllMetadata: true,
		})
		if err != nil {
			return nil, fmt.Errorf("look for a lost post: %w", err)
		}
		return messages, nil
	}
	h, err := b.API.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
		ChannelID: d.Channel, Oldest: since, Limit: mostLooked, IncludeAllMetadata: true,
	})
	if err != nil {
		return nil, fmt.Errorf("look for a lost post: %w", err)
	}
	return h.Messages, nil
}

// How many messages are looked through for a lost one, and how far Slack's clock
// may be from ours meanwhile.
const (
	mostLooked = 999
	clockSlack = 10 * time.Minute
)

// failed sorts an error of a method: to be tried again when Slack says, later, or never.
func (b *Bot) failed(d Delivery, method string, err error) Receipt {
	r := Receipt{PostedTS: d.PostedTS, Hash: d.Hash, Error: err.Error()}
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		r.RetryAt = b.Now().Add(limited.RetryAfter)
		b.hold(method, r.RetryAt)
		return r
	}
	if b.gone.dead() {
		r.RetryAt = b.Now().Add(slowRetry)
		return r
	}
	if r.Place = closedPlace(err); r.Place || said(err, "invalid_blocks", "msg_too_long", "msg_blocks_too_long") {
		r.RetryAt = b.Now().Add(slowRetry)
		r.Gone = d.Attempts >= mostAttempts
		return r
	}
	r.RetryAt = b.Now().Add(min(time.Second<<min(d.Attempts, 6), slowRetry))
	return r
}

// Permanent-looking failures are tried a few times, because people invite bots
// back; the rest for ever, at a growing distance.
const (
	slowRetry    = time.Minute
	mostAttempts = 5
)

// hold keeps a method from being called by any replica until Slack allows it.
func (b *Bot) hold(method string, until time.Time) {
	if method == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.storeTimeout())
	defer cancel()
	if err := b.Outbox.Hold(ctx, method, "", until); err != nil {
		b.Logger.WarnContext(ctx, "a limit of Slack could not be stored", "error", err)
	}
}

// said reports whether Slack answered with one of these errors.
func said(err error, codes ...string) bool {
	var e slack.SlackErrorResponse
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Err == c {
			return true
		}
	}
	return false
}

// tooSoon paces the edits of one progress message; its last state is never put off.
func (b *Bot) tooSoon(d Delivery, _ *card.Message) time.Duration {
	if !isProgress(d.Subject) || d.PostedTS == "" {
		return 0
	}
	last, ok := b.pacing.Load(d.Subject)
	if !ok {
		return 0
	}
	at, _ := last.(time.Time)
	return at.Add(b.Gaps.Progress).Sub(b.Now())
}

// noteProgress remembers when a progress message was last shown, and forgets those
// that nothing is put off for any more.
func (b *Bot) noteProgress(d Delivery) {
	if !isProgress(d.Subject) {
		return
	}
	now := b.Now()
	b.pacing.Range(func(subject, value any) bool {
		if at, _ := value.(time.Time); now.Sub(at) > b.Gaps.Progress {
			b.pacing.Delete(subject)
		}
		return true
	})
	b.pacing.Store(d.Subject, now)
}

func isProgress(subject string) bool {
	kind, _, rest, ok := parseSubject(subject)
	return ok && kind == "run" && rest[0] == "progress"
}

// renderQuestion draws a question. Of one that the model asks after the run has read
// something private, the thread hears without its words; they go to the asker.
func (b *Bot) renderQuestion(ctx context.Context, d Delivery, work *agent.Work, rest []string, at card.Where) (*card.Message, time.Time, error) {
	var later time.Time
	if len(rest) < 2 {
		return nil, later, agent.ErrNotFound
	}
	n, err := strconv.Atoi(rest[1])
	if err != nil || n < 1 || n > len(work.Steps) {
		return nil, later, agent.ErrNotFound
	}
	s := &work.Steps[n-1]
	switch {
	case isPrivate(d.Subject):
		if d.PostedTS == "" && s.State != agent.StepAsking {
			return nil, later, nil
		}
		at.Alone, at.Lang, at.Link = true, b.langOf(ctx, work.Run.Requester().User), b.linkTo(ctx, &work.Run)
	case s.Question != "" && b.Card.HushedAt(work, n) && !isDirect(work.Run.Channel):
		at.Hush = true
		if err := b.wishPrivately(ctx, &work.Run, fmt.Sprintf("/%d", n)); err != nil {
			return nil, later, err
		}
	}
	m := b.Card.Question(work, n, at)
	m.Meta.Subject = d.Subject
	if s.State == agent.StepUncertain {
		if safe := b.Door.Safe(s); at.Now.Before(safe) {
			later = safe // from then on it may be run again, and the message says so
		}
	}
	return &m, later, nil
}
