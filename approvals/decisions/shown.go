package decisions

import (
	"context"
	"fmt"

	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Showing is what people were shown of a revision: a card of a channel, or everything
// in one person's form.
type Showing struct {
	Run      string
	Step     int
	Approval string
	Revision int
	Digest   string
	Who      policy.Actor // whose form it was; zero: whoever is in the channel
	Channel  string
	TS       string // of the card
	Hash     string
	Text     string
}

// Shown records what people could read when they could decide. The record masks
// secrets, also where a form showed them.
func (d *Door) Shown(ctx context.Context, s Showing) error {
	kind := "card.shown"
	if !s.Who.Zero() {
		kind = "card.opened"
	}
	e := audit.Entry{
		At: d.Now(), Kind: kind, Run: s.Run, Step: s.Step, Approval: s.Approval, Revision: s.Revision, Digest: s.Digest,
		Team: s.Who.Team, User: s.Who.User, Via: "slack",
		Data: d.data(map[string]any{"channel": s.Channel, "ts": s.TS, "hash": s.Hash, "text": s.Text}),
	}
	if err := d.Store.Refuse(ctx, []audit.Entry{e}); err != nil {
		return fmt.Errorf("record what was shown: %w", err)
	}
	return nil
}
