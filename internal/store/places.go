package store

import (
	"context"
	"time"

	"countersign/agent"
)

// MoveChannel implements bot.Places. What was shown, what waits and what was heard
// there belongs to the new id from one commit on.
func (s *Store) MoveChannel(ctx context.Context, from, to string) error {
	return s.transact(ctx, func(t *txn) error {
		for _, c := range []struct {
			statement string
			args      []any
		}{
			{"UPDATE runs SET channel = ? WHERE channel = ?", []any{to, from}},
			{"UPDATE approvals SET channel = ? WHERE channel = ?", []any{to, from}},
			{"UPDATE grants SET channel = ? WHERE channel = ?", []any{to, from}},
			{"UPDATE budget_uses SET budget = replace(budget, ?, ?) WHERE budget LIKE ?", []any{"/channel/" + from, "/channel/" + to, "%/channel/" + from}},
			{"UPDATE deliveries SET channel = ?, subject = replace(subject, ?, ?) WHERE channel = ?", []any{to, "/" + from, "/" + to, from}},
			{"UPDATE event_keys SET event_key = replace(event_key, ?, ?) WHERE event_key LIKE ?", []any{"/" + from + "/", "/" + to + "/", "%/" + from + "/%"}},
		} {
			if _, err := t.changed(c.statement, c.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// CloseChannel implements bot.Places.
func (s *Store) CloseChannel(ctx context.Context, channel string, now time.Time) error {
	const again = `UPDATE deliveries SET hash = '', version = version + 1, since = ?, ready_at = ?, attempts = 0, updated_at = ?
		WHERE channel = ? AND posted_ts <> '' AND NOT gone AND (
			subject IN (SELECT 'approval/' || id || '/card/' || channel FROM approvals WHERE state = 'pending' AND channel = ?)
			OR subject LIKE 'run/%/question/%' AND EXISTS (SELECT 1 FROM runs WHERE state = 'waiting_input' AND runs.channel = ?
				AND deliveries.subject LIKE 'run/' || runs.id || '/question/%'))`
	at := micros(now)
	_, err := s.exec(ctx, again, at, at, at, channel, channel, channel)
	return err
}

// Heard implements bot.Places.
func (s *Store) Heard(ctx context.Context, run, ts string) (*agent.Message, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	heard, err := loadMessages(s.read.WithContext(ctx).Where("run = ? AND ts = ? AND kind IN ?", run, ts, []agent.MessageKind{agent.FollowUp, agent.Reply}).Limit(1))
	if err != nil || len(heard) == 0 {
		return nil, translate(err)
	}
	return &heard[0], nil
}
