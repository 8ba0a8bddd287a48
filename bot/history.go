package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/bot/slacktext"
)

// mostHistory bounds how many earlier messages of a thread a run is shown.
const mostHistory = 30

// maxQuoted bounds one quoted message, in characters.
const maxQuoted = 2000

// History reads threads for the agent.
type History struct {
	API       *slack.Client
	Self      Self
	Directory *Directory
}

// Before gives the thread's messages older than ts, oldest first, with our own
// progress and cards left out.
func (h *History) Before(ctx context.Context, t agent.Thread, ts string) ([]agent.Quoted, error) {
	messages, _, _, err := h.API.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: t.Channel, Timestamp: t.TS, Latest: ts, Inclusive: false, Limit: 200, IncludeAllMetadata: true,
	})
	if err != nil {
		return nil, fmt.Errorf("read thread %s: %w", t.TS, err)
	}
	var out []agent.Quoted
	for i := range messages {
		if m := &messages[i]; m.Timestamp < ts && !h.machinery(m) {
			out = append(out, h.quote(m))
		}
	}
	return out[max(0, len(out)-mostHistory):], nil
}

// machinery says that a message of ours is not an answer.
func (h *History) machinery(m *slack.Message) bool {
	if m.User != h.Self.User {
		return false
	}
	subject, _ := m.Metadata.EventPayload["subject"].(string)
	return m.Metadata.EventType == metadataType && !isAnswer(subject)
}

func (h *History) quote(m *slack.Message) agent.Quoted {
	blocks, err := json.Marshal(m.Blocks)
	if err != nil {
		blocks = nil
	}
	said := slacktext.Reader{Self: h.Self.User, Name: h.Directory.KnownName}.Read(slacktext.Message{Text: m.Text, Blocks: blocks})
	return agent.Quoted{Author: m.User, Name: h.Directory.KnownName(m.User), Text: slacktext.Truncate(said.Text, maxQuoted)}
}
