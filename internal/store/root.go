package store

import (
	"context"

	"countersign/agent"
	"countersign/bot"
	"countersign/internal/audit"
)

// receipt stores what came of a delivery, with what it asks for next. The receipt of a
// root message gives its run the thread and the first work, in the same commit; where
// the root can never be posted, the run is over.
func (s *Store) receipt(ctx context.Context, d bot.Delivery, done bot.Receipt, statement string, args []any) (int64, error) {
	run, root := agent.RootOf(d.Subject)
	root = root && (done.PostedTS != "" || done.Gone)
	if !root && len(done.Wishes) == 0 {
		return s.exec(ctx, statement, args...)
	}
	var n int64
	err := s.transact(ctx, func(t *txn) (err error) {
		if root {
			if err := t.rooted(run, d, done); err != nil {
				return err
			}
		}
		if n, err = t.changed(statement, args...); err != nil {
			return err
		}
		if n != 1 {
			return agent.ErrFenced
		}
		return t.wishes(done.Wishes)
	})
	return n, err
}

// rooted gives a run its thread, unless it has one.
func (t *txn) rooted(run string, d bot.Delivery, done bot.Receipt) error {
	now := micros(t.now)
	if done.PostedTS == "" {
		n, err := t.changed("UPDATE runs SET state = 'cancelled', halt = 'error', ended_at = ?, updated_at = ? WHERE id = ? AND state = 'init' AND wake = 0", now, now, run)
		if err != nil || n == 0 {
			return err
		}
		return t.audit([]audit.Entry{{At: t.now, Kind: "run.ended", Run: run, Via: "delivery", Data: `{"state":"cancelled","halt":"error","why":"its root message could not be posted"}`}})
	}
	channel := done.Channel
	if channel == "" {
		channel = d.Channel
	}
	n, err := t.changed("UPDATE runs SET thread_ts = ?, message_ts = ?, channel = ?, wake = wake + 1, ready_at = ?, updated_at = ? WHERE id = ? AND state = 'init' AND wake = 0",
		done.PostedTS, done.PostedTS, channel, now, now, run)
	if err != nil || n == 0 {
		return err
	}
	return t.ring(run)
}
