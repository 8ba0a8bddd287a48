package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/card"
)

// privateSubject names the delivery of an answer to its asker alone; with a step's number
// after it, of that step's question.
func privateSubject(run string) string { return "run/" + run + "/private" }

func isPrivate(subject string) bool {
	kind, _, rest, ok := parseSubject(subject)
	return ok && kind == "run" && rest[0] == "private"
}

// renderAnswer draws an answer. When the run has read something private, the thread is
// told so and the answer itself goes to the asker.
func (b *Bot) renderAnswer(ctx context.Context, d Delivery, work *agent.Work, at card.Where) (*card.Message, time.Time, error) {
	if work.Run.Answer == "" {
		return b.noAnswer(d, work, at)
	}
	var err error
	if at.Approvers, err = b.approvers(ctx, work); err != nil {
		return nil, time.Time{}, err
	}
	secret := b.Card.ReadPrivate(work) && !isDirect(work.Run.Channel)
	if secret && !isPrivate(d.Subject) {
		if err := b.wishPrivately(ctx, &work.Run, ""); err != nil {
			return nil, time.Time{}, err
		}
		m := b.Card.PrivatelyAnswered(work, at)
		return &m, time.Time{}, nil
	}
	if at.Results, err = b.results(ctx, work); err != nil {
		return nil, time.Time{}, err
	}
	if isPrivate(d.Subject) {
		at.Lang = b.langOf(ctx, work.Run.Requester().User)
	}
	work.Run.Answer = b.named(work.Run.Answer)
	m := b.Card.Answer(work, at)
	m.Meta.Subject = d.Subject
	return &m, time.Time{}, nil
}

// wishPrivately asks for what the asker alone shall read: the answer, or a step's question. Of
// an asker that is no person, its owner reads it.
func (b *Bot) wishPrivately(ctx context.Context, run *agent.Run, step string) error {
	now := b.Now()
	wish := agent.Wish{Subject: privateSubject(run.ID) + step, Channel: run.Requester().User, Priority: agent.PriorityAnswer, ReadyAt: now}
	if err := b.Outbox.Wish(ctx, []agent.Wish{wish}, now); err != nil {
		return fmt.Errorf("wish for a private message: %w", err)
	}
	b.Poke()
	return nil
}

// isDirect says that a channel is a conversation with one person.
func isDirect(channel string) bool { return strings.HasPrefix(channel, "D") }

// mentionOf is how Slack writes a person, which the model repeats from what it read.
var mentionOf = regexp.MustCompile(`<@([UW][A-Z0-9]{2,20})>`)

// named writes the people whom the model names as readers know them, outside of code.
// It is text like any other of the model's: nobody is notified, and a name's own signs
// are shown, not obeyed.
func (b *Bot) named(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = mentionOf.ReplaceAllStringFunc(parts[i], func(m string) string {
			if name := b.Directory.KnownName(m[2 : len(m)-1]); name != "" {
				return "@" + strings.Join(strings.Fields(name), " ")
			}
			return m
		})
	}
	return strings.Join(parts, "`")
}

// results are the tables and files of a run's steps.
func (b *Bot) results(ctx context.Context, work *agent.Work) ([]card.Result, error) {
	attached, err := b.Views.Attachments(ctx, work.Run.ID)
	if err != nil {
		return nil, fmt.Errorf("read the attachments of run %s: %w", work.Run.ID, err)
	}
	var out []card.Result
	for _, a := range attached {
		if a.Step < 1 || a.Step > len(work.Steps) {
			continue
		}
		r := card.Result{Step: a.Step, Tool: work.Steps[a.Step-1].Tool}
		if a.MIME != agent.TableMIME {
			r.Files = []card.File{{Name: a.Name, Title: a.Name, Content: a.Content}}
		} else if json.Unmarshal(a.Content, &r.Table) != nil {
			continue // of another version: the answer has it in words
		}
		out = append(out, r)
	}
	return out, nil
}

// whisperAnswer is for askers who take no direct messages: a note in the thread that
// they alone see. It can never be edited, so what says the same is not shown again.
func (b *Bot) whisperAnswer(ctx context.Context, d Delivery, msg *card.Message, hash, cause string) Receipt {
	shown := Receipt{Version: d.Version, Hash: hash, Gone: true}
	if d.Hash == hash {
		return shown
	}
	work, err := b.Views.Load(ctx, msg.Meta.Run)
	if err != nil {
		return b.failed(d, "", err)
	}
	r := &work.Run
	o := []slack.MsgOption{
		slack.MsgOptionText(msg.Text, false), slack.MsgOptionBlocks(msg.Blocks...), slack.MsgOptionTS(r.TS),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if _, err := b.API.PostEphemeralContext(ctx, r.Channel, r.Requester().User, o...); err != nil {
		return b.failed(d, "chat.postEphemeral", err)
	}
	b.Logger.WarnContext(ctx, "the asker takes no direct messages; something private was shown in the thread to them alone", "run", r.ID, "error", cause)
	return shown
}
