package store

import (
	"context"
	"errors"

	"countersign/agent"
	"countersign/internal/id"
)

// errNothing rolls a transaction back that turned out to have nothing to write.
var errNothing = errors.New("nothing to write")

// Accept implements agent.Store. A message that reaches an unfinished run becomes
// an inbox row of it; its wishes and audit entries are those of a start and are
// written only then.
func (s *Store) Accept(ctx context.Context, in agent.Incoming) (agent.Accepted, error) {
	var got agent.Accepted
	accept := func(t *txn) (err error) {
		got, err = t.accept(&in)
		return err
	}
	err := s.receive(ctx, accept)
	for i := 0; i < tries && errors.Is(err, errDuplicate); i++ {
		err = s.receive(ctx, accept) // somebody else's start won: now there is a run to reach
	}
	if errors.Is(err, errNothing) {
		err = nil
	}
	if err != nil {
		return agent.Accepted{}, err
	}
	return got, nil
}

func (t *txn) accept(in *agent.Incoming) (agent.Accepted, error) {
	fresh, err := t.fresh(in.Key)
	if err != nil {
		return agent.Accepted{}, err
	}
	if !fresh {
		return agent.Accepted{Seen: true}, nil
	}
	reached, err := t.reach(in)
	if err != nil || reached != "" {
		return agent.Accepted{Run: reached}, err
	}
	if in.Follow {
		return agent.Accepted{}, errNothing // the key is not kept: nothing came of the message
	}
	return agent.Accepted{Run: in.Run.ID, Started: true}, t.start(in)
}

// fresh stores a dedupe key and says whether it is new. An empty key is always new.
func (t *txn) fresh(key string) (bool, error) {
	if key == "" {
		return true, nil
	}
	n, err := t.changed("INSERT INTO event_keys (event_key, at) VALUES (?, ?) ON CONFLICT (event_key) DO NOTHING",
		clean(key), micros(t.now))
	return n == 1, err
}

// reach makes the message an inbox row of the asker's unfinished run in the thread;
// it gives that run's id, empty when there is none.
func (t *txn) reach(in *agent.Incoming) (string, error) {
	r := &in.Run
	const find = "SELECT id FROM runs WHERE installation = ? AND channel = ? AND thread_ts = ?" +
		" AND asker_team = ? AND asker_user = ? AND " + unfinished
	var ids []string
	err := t.Raw(find, r.Installation, r.Channel, r.TS, r.Asker.Team, r.Asker.User).Scan(&ids).Error
	if err != nil || len(ids) == 0 {
		return "", err
	}
	m := agent.Message{
		ID: id.New("m", t.now), Run: ids[0], Kind: agent.FollowUp, From: r.Asker, Name: in.Name,
		Text: r.Request, TS: r.MessageTS, At: t.now,
	}
	wake, err := t.arrive(&m)
	if err != nil || wake == 0 { // it ended between the two statements
		return "", err
	}
	return ids[0], nil
}

// start inserts the run; errDuplicate when the asker has one in the thread.
func (t *txn) start(in *agent.Incoming) error {
	row, err := newRunRow(&in.Run)
	if err != nil {
		return err
	}
	if err := insert(t, row); err != nil {
		return err
	}
	for i := range in.Quoted {
		row := newInboxRow(&in.Quoted[i], int64(-i)) // before whatever wakes the run
		if err := insert(t, row); err != nil {
			return err
		}
	}
	if err := t.wishes(in.Wishes); err != nil {
		return err
	}
	if err := t.ring(in.Run.ID); err != nil {
		return err
	}
	return t.audit(in.Audit)
}

// Tell implements agent.Store.
func (s *Store) Tell(ctx context.Context, m agent.Message, key string) error {
	return s.receive(ctx, func(t *txn) error {
		fresh, err := t.fresh(key)
		if err != nil || !fresh {
			return err
		}
		wake, err := t.arrive(&m)
		if err == nil && wake == 0 {
			err = t.missing(m.Run)
		}
		return err
	})
}

// arrive wakes the message's run and stores the inbox row under the raised wake.
func (t *txn) arrive(m *agent.Message) (wake int64, err error) {
	wake, err = t.wake(m.Run, t.now)
	if err != nil || wake == 0 {
		return 0, err
	}
	row := newInboxRow(m, wake)
	return wake, insert(t, row)
}

// missing says why a run cannot be given work: it is not there, or has ended.
func (t *txn) missing(run string) error {
	var n int64
	if err := t.Raw("SELECT count(*) FROM runs WHERE id = ?", run).Scan(&n).Error; err != nil {
		return err
	}
	if n == 0 {
		return agent.ErrNotFound
	}
	return agent.ErrSettled
}
