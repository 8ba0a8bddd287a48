// Package card draws the state of runs and approvals as Slack's blocks: pure,
// without a clock, and within every limit of Slack.
package card

import (
	"encoding/json"
	"time"

	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
	"countersign/bot/words"
	"countersign/tools"
)

// Renderer draws. Its functions may be nil where nothing is known.
type Renderer struct {
	Words   *words.Catalogue
	Masker  *slacktext.Masker
	Schema  func(tool string) json.RawMessage // JSON Schema of a tool's arguments; nil if unknown
	Private func(tool string) bool            // the channel may not see the arguments
	Safe    func(*agent.Step) time.Time       // from when an uncertain call may be run again
}

// Message is what is posted.
type Message struct {
	Text   string        // always filled: notifications and screen readers; never holds argument values
	Blocks []slack.Block // at most 50
	Meta   Meta
	File   *File // the whole answer, when the message shows a part of it
}

// Meta becomes the message's metadata, by which a lost post is found again.
type Meta struct {
	Subject  string
	Run      string
	Approval string
	Revision int
}

// File is a file that belongs to a message.
type File struct {
	Name    string
	Title   string
	Content []byte
}

// Where says for whom and when something is drawn.
type Where struct {
	Lang   string
	Now    time.Time
	Thread string
	Read   []string // what the run has read that the asker did not write
}

// Approval draws the card of an approval in whatever state it is.
func (r *Renderer) Approval(c *decisions.Case, w Where) Message { return Message{Text: "…"} }

// Hides says that the card cannot show everything: it has Show instead of Approve.
func (r *Renderer) Hides(c *decisions.Case) bool { return false }

// Progress draws the one message that tells how a run is going.
func (r *Renderer) Progress(w *agent.Work, at Where) Message { return Message{Text: "…"} }

// Answer draws the answer with our own line under it.
func (r *Renderer) Answer(w *agent.Work, at Where) Message { return Message{Text: "…"} }

// Question draws what a step asks a person.
func (r *Renderer) Question(w *agent.Work, step int, at Where) Message { return Message{Text: "…"} }

// Status draws the private answer to "status".
func (r *Renderer) Status(w *agent.Work, at Where) Message { return Message{Text: "…"} }

// Help draws what a person may do here.
func (r *Renderer) Help(lang string, specs []tools.Spec, person policy.Person) Message {
	return Message{Text: "…"}
}

// Home draws a person's Home tab.
func (r *Renderer) Home(waiting []decisions.Case, runs []agent.Run, at Where) slack.HomeTabViewRequest {
	return slack.HomeTabViewRequest{}
}

// Refusal is one private sentence, in mrkdwn, that says why something did not count.
func (r *Renderer) Refusal(lang, code, detail string, c *decisions.Case) string { return code }

// Loading is the modal that is opened at once and filled later.
func (r *Renderer) Loading(lang, callbackID string) slack.ModalViewRequest {
	return slack.ModalViewRequest{}
}

// ShowModal shows everything, with Approve after the last argument; false when it fits no modal.
func (r *Renderer) ShowModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	return slack.ModalViewRequest{}, false
}

// EditModal has one input per argument; false when the call cannot be edited here.
func (r *Renderer) EditModal(c *decisions.Case, lang string) (slack.ModalViewRequest, bool) {
	return slack.ModalViewRequest{}, false
}

// RejectModal asks for the reason.
func (r *Renderer) RejectModal(c *decisions.Case, lang string) slack.ModalViewRequest {
	return slack.ModalViewRequest{}
}

// RespondModal asks for the answer that the model gets in the tool's place.
func (r *Renderer) RespondModal(c *decisions.Case, lang string) slack.ModalViewRequest {
	return slack.ModalViewRequest{}
}

// SettledModal says what happened meanwhile, with the values that were typed.
func (r *Renderer) SettledModal(c *decisions.Case, typed map[string]string, lang string) slack.ModalViewRequest {
	return slack.ModalViewRequest{}
}

// Typed reads an edit form.
func (r *Renderer) Typed(c *decisions.Case, values map[string]map[string]slack.BlockAction) (raw string, typed map[string]string, errs map[string]string) {
	return "", nil, nil
}
