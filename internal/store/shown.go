package store

import (
	"encoding/json"
	"slices"

	"countersign/internal/audit"
)

// shownCard is a card as it stands in a channel.
type shownCard struct {
	Channel  string `json:"channel"`
	PostedTS string `json:"ts"`
	Hash     string `json:"hash"`
}

// cardsOf lists where an approval's card stands. "0" follows "/": a range of the primary key.
const cardsOf = "SELECT channel, posted_ts, hash FROM deliveries WHERE subject > ? AND subject < ? AND posted_ts <> '' ORDER BY subject"

// withCards adds to entries about a click which cards stood there: their place, and
// the hash by which the record's card.shown says what was on them.
func (t *txn) withCards(entries []audit.Entry, approval string) ([]audit.Entry, error) {
	if approval == "" || len(entries) == 0 {
		return entries, nil
	}
	var cards []shownCard
	if err := t.Raw(cardsOf, "approval/"+approval+"/card/", "approval/"+approval+"/card0").Scan(&cards).Error; err != nil || len(cards) == 0 {
		return entries, err
	}
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		fields := map[string]any{}
		if e.Approval != approval || json.Unmarshal([]byte(e.Data), &fields) != nil {
			continue
		}
		fields["cards"] = cards
		data, err := encode(fields)
		if err != nil {
			return nil, err
		}
		e.Data = data
	}
	return entries, nil
}
