package store

import (
	"context"
	"fmt"
	"time"

	"countersign/approvals/policy"
	"countersign/bot"
)

// clickRow is a row of clicks.
type clickRow struct {
	ID        string
	Action    string
	Team      string
	UserID    string
	Channel   string
	MessageTS string
	Run       string
	Step      int
	Approval  string
	Revision  int
	Digest    string
	Input     string
	At        int64
	Outcome   string
	EndedAt   int64
}

// TableName names the table.
func (clickRow) TableName() string { return "clicks" }

func (w *clickRow) click() bot.Click {
	return bot.Click{
		ID: w.ID, Action: w.Action, Actor: policy.Actor{Team: w.Team, User: w.UserID}, Channel: w.Channel,
		MessageTS: w.MessageTS, Run: w.Run, Step: w.Step, Approval: w.Approval, Revision: w.Revision,
		Digest: w.Digest, Input: raw(w.Input), At: instant(w.At),
	}
}

// notSaved is the outcome of a click that was taken back.
const notSaved = "not_saved"

const putClick = `INSERT INTO clicks (id, action, team, user_id, channel, message_ts, run, step, approval, revision,
	digest, input, at, outcome, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO `

// SaveClick implements bot.Clicks. What was taken back may be sent again, at a later instant.
func (s *Store) SaveClick(ctx context.Context, c bot.Click) (bool, error) {
	if c.At.IsZero() {
		c.At = s.now()
	}
	const save = putClick + `UPDATE SET at = excluded.at, outcome = '', ended_at = 0
		WHERE clicks.outcome = '` + notSaved + `' AND clicks.at < excluded.at`
	n, err := s.keep(ctx, save, columnsOf(c, "", 0)...)
	if err != nil && s.gate == nil && unsure(err) {
		err = fmt.Errorf("%w: %w", bot.ErrUnsure, err)
	}
	return n == 1, err
}

// TakeBack implements bot.Clicks. The row that stays keeps out a click that is still under way.
func (s *Store) TakeBack(ctx context.Context, c bot.Click) (bool, error) {
	const back = putClick + `UPDATE SET at = excluded.at, outcome = excluded.outcome, ended_at = excluded.ended_at
		WHERE clicks.outcome = excluded.outcome AND clicks.at <= excluded.at OR clicks.ended_at = 0 AND clicks.at = excluded.at`
	n, err := s.keep(ctx, back, columnsOf(c, notSaved, micros(c.At))...)
	return n == 1, err
}

func columnsOf(c bot.Click, outcome string, ended int64) []any {
	return []any{
		clean(c.ID), clean(c.Action), clean(c.Actor.Team), clean(c.Actor.User), clean(c.Channel), clean(c.MessageTS), clean(c.Run), c.Step,
		clean(c.Approval), c.Revision, clean(c.Digest), clean(string(c.Input)), micros(c.At), outcome, ended,
	}
}

// OpenClicks implements bot.Clicks, oldest first.
func (s *Store) OpenClicks(ctx context.Context, before time.Time, n int) ([]bot.Click, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var rows []clickRow
	err := s.read.WithContext(ctx).Where("ended_at = 0 AND at < ?", micros(before)).Order("at, id").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, translate(err)
	}
	out := make([]bot.Click, len(rows))
	for i := range rows {
		out[i] = rows[i].click()
	}
	return out, nil
}

// EndClick implements bot.Clicks. The first outcome stands.
func (s *Store) EndClick(ctx context.Context, id, outcome string, now time.Time) error {
	_, err := s.exec(ctx, "UPDATE clicks SET outcome = ?, ended_at = ? WHERE id = ? AND ended_at = 0", clean(outcome), micros(now), id)
	return err
}

// SaveOpening implements bot.Clicks. Opening again changes nothing.
func (s *Store) SaveOpening(ctx context.Context, approval string, revision int, who policy.Actor, now time.Time) error {
	_, err := s.keep(ctx, "INSERT INTO openings (approval, revision, team, user_id, at) VALUES (?, ?, ?, ?, ?)"+
		" ON CONFLICT (approval, revision, team, user_id) DO NOTHING", approval, revision, who.Team, who.User, micros(now))
	return err
}

// SeenEvent implements bot.Clicks.
func (s *Store) SeenEvent(ctx context.Context, key string, now time.Time) (bool, error) {
	n, err := s.keep(ctx, "INSERT INTO event_keys (event_key, at) VALUES (?, ?) ON CONFLICT (event_key) DO NOTHING", clean(key), micros(now))
	return n == 1, err
}
