// Package card draws the state of runs and approvals as Slack's blocks: pure,
// without a clock, and within every limit of Slack.
//
// Our own words are mrkdwn and come from the catalogue; they hold nothing of
// anybody else but ids, numbers, instants and short values in backticks. What
// others wrote (the asker, the model, tools, arguments) is rich text, in which
// Slack interprets nothing.
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
)

// Renderer draws. Words is needed; its functions and the Masker may be nil.
type Renderer struct {
	Words    *words.Catalogue
	Masker   *slacktext.Masker
	Schema   func(tool string) json.RawMessage // JSON Schema of a tool's arguments; nil if unknown
	Private  func(tool string) bool            // the channel may not see the arguments
	Safe     func(*agent.Step) time.Time       // from when an uncertain call may be run again
	Grants   Bounds                            // of standing grants; zero: none is given
	Currency string                            // of what runs cost; empty: it is not shown
	Plain    bool                              // without the newer blocks (plan, container), for places that refuse them
}

// Message is what is posted.
type Message struct {
	Text   string        // always filled: notifications and screen readers; never holds argument values
	Blocks []slack.Block // at most 50
	Meta   Meta
	Files  []File // the whole answer, when the message shows a part of it, and what the steps gave
}

// Meta becomes the message's metadata, by which a lost post is found again.
type Meta struct {
	Subject  string
	Run      string
	Approval string
	Revision int
	Step     int
	Digest   string
}

// File is a file that belongs to a message.
type File struct {
	Name    string
	Title   string
	Content []byte
}

// Where says for whom and when something is drawn.
type Where struct {
	Lang      string
	Now       time.Time
	Thread    string
	Read      []string                  // what the run has read that the asker did not write
	Unknown   int                       // number of an earlier step: the same call, and nobody knows whether it happened; 0: none
	Rejected  *decisions.Case           // the same call, rejected within a day before; nil: none
	Head      string                    // the record's last entry about the approval, as NUMBER:HASH
	Link      string                    // to the thread; empty: not known
	Locked    bool                      // the reader's decisions do not count
	Reworded  bool                      // the asker edited the request after this was asked
	OnlyAsker bool                      // nobody but the asker holds a role that may approve
	Gone      []policy.Actor            // who hold one and are not in the workspace any more
	Results   []Result                  // of the run's steps, for who may see them
	Alone     bool                      // it is shown to its reader alone, not in the thread
	Hush      bool                      // the run had read something private by then: the model's words stay out of the channel
	Approvers map[string][]policy.Actor // by approval id: whose approval let the call run
}
