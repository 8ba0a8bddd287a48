package card

import (
	"github.com/slack-go/slack"

	"countersign/agent"
)

// Root draws the message that the thread of a run hangs on which no message asked
// for: who asks, who answers for it, the instruction, and what it is about as quoted
// data.
func (r *Renderer) Root(w *agent.Work, at Where) Message {
	p := r.pen(at.Lang)
	said := p.say("root.asks", "asker", person(w.Run.Asker), "owner", person(w.Run.Owner))
	blocks := append([]slack.Block{section(said)}, rich(quote(p.prose(w.Run.Request, rootRunes)))...)
	for i := range w.Inbox {
		if m := &w.Inbox[i]; m.TS == "" && !w.Run.Speaks(m.From) {
			blocks = append(append(blocks, note(p.say("root.data"))), rich(quote(p.prose(m.Text, rootRunes)))...)
		}
	}
	return Message{Text: said, Blocks: blocks, Meta: Meta{Run: w.Run.ID}}
}

// rootRunes is how much of an instruction, and of the data, the root message shows.
const rootRunes = 1500
