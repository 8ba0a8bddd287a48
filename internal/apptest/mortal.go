package apptest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/audit"
)

// ErrDead is what a dead process gets of the database: nothing.
var ErrDead = errors.New("this process is dead")

// Mortal lets a process die at one of its commits, before or after it. From then
// on nothing that the process does reaches the database, as if it were killed.
type Mortal struct {
	app.Ports
	At    int64 // the commit at which it dies, from 1; 0: never
	After bool  // it dies when the commit is done

	Intends  string // it dies at the intent of a delivery with this in its subject; empty: at none
	Receipts string // the same at the receipt

	n    atomic.Int64
	dead atomic.Bool
}

// Between puts it between a process and the database.
func (m *Mortal) Between(p app.Ports) app.Ports { m.Ports = p; return m }

// Commits says how many commits there were.
func (m *Mortal) Commits() int64 { return m.n.Load() }

// Dead says whether it died.
func (m *Mortal) Dead() bool { return m.dead.Load() }

func (m *Mortal) commit(f func() error) error { return m.at(false, f) }

// at is a commit, fatal or not.
func (m *Mortal) at(fatal bool, f func() error) error {
	if m.dead.Load() {
		return ErrDead
	}
	n := m.n.Add(1)
	if !fatal && (m.At == 0 || n != m.At) {
		return f()
	}
	if m.After {
		err := f()
		m.dead.Store(true)
		if err != nil {
			return err
		}
		return ErrDead
	}
	m.dead.Store(true)
	return ErrDead
}

func (m *Mortal) alive() error {
	if m.dead.Load() {
		return ErrDead
	}
	return nil
}

// Accept is a commit.
func (m *Mortal) Accept(ctx context.Context, in agent.Incoming) (out agent.Accepted, err error) {
	err = m.commit(func() (err error) { out, err = m.Ports.Accept(ctx, in); return err })
	return out, err
}

// Tell is a commit.
func (m *Mortal) Tell(ctx context.Context, msg agent.Message, key string) error {
	return m.commit(func() error { return m.Ports.Tell(ctx, msg, key) })
}

// Claim is a commit when it claims.
func (m *Mortal) Claim(ctx context.Context, run string, l agent.Lease, now time.Time) (out *agent.Run, err error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Ports.Claim(ctx, run, l, now)
}

// Commit is a commit.
func (m *Mortal) Commit(ctx context.Context, f agent.Fence, c agent.Change) (wake int64, err error) {
	err = m.commit(func() (err error) { wake, err = m.Ports.Commit(ctx, f, c); return err })
	return wake, err
}

// Record is a commit.
func (m *Mortal) Record(ctx context.Context, c decisions.Change) error {
	return m.commit(func() error { return m.Ports.Record(ctx, c) })
}

// Refuse is a commit.
func (m *Mortal) Refuse(ctx context.Context, e []audit.Entry) error {
	return m.commit(func() error { return m.Ports.Refuse(ctx, e) })
}

// SaveClick is a commit.
func (m *Mortal) SaveClick(ctx context.Context, c bot.Click) (fresh bool, err error) {
	err = m.commit(func() (err error) { fresh, err = m.Ports.SaveClick(ctx, c); return err })
	return fresh, err
}

// TakeBack is a commit.
func (m *Mortal) TakeBack(ctx context.Context, c bot.Click) (back bool, err error) {
	err = m.commit(func() (err error) { back, err = m.Ports.TakeBack(ctx, c); return err })
	return back, err
}

// EndClick is a commit.
func (m *Mortal) EndClick(ctx context.Context, id, outcome string, now time.Time) error {
	return m.commit(func() error { return m.Ports.EndClick(ctx, id, outcome, now) })
}

// SaveOpening is a commit.
func (m *Mortal) SaveOpening(ctx context.Context, a string, r int, who policy.Actor, now time.Time) error {
	return m.commit(func() error { return m.Ports.SaveOpening(ctx, a, r, who, now) })
}

// Intend is a commit.
func (m *Mortal) Intend(ctx context.Context, d bot.Delivery, now time.Time) error {
	return m.at(m.Intends != "" && strings.Contains(d.Subject, m.Intends), func() error { return m.Ports.Intend(ctx, d, now) })
}

// Delivered is a commit.
func (m *Mortal) Delivered(ctx context.Context, d bot.Delivery, r bot.Receipt) error {
	return m.at(m.Receipts != "" && strings.Contains(d.Subject, m.Receipts), func() error { return m.Ports.Delivered(ctx, d, r) })
}

// ClaimDeliveries ends with the process.
func (m *Mortal) ClaimDeliveries(ctx context.Context, owner string, now, until time.Time, n int) ([]bot.Delivery, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Ports.ClaimDeliveries(ctx, owner, now, until, n)
}

// Extend ends with the process: a dead one has no heartbeat.
func (m *Mortal) Extend(ctx context.Context, owner string, leases map[string]int64, now, until time.Time) (map[string]int64, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Ports.Extend(ctx, owner, leases, now, until)
}

// Release ends with the process: a killed one gives nothing back.
func (m *Mortal) Release(ctx context.Context, owner string, runs []string, at time.Time) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Ports.Release(ctx, owner, runs, at)
}

// Due ends with the process.
func (m *Mortal) Due(ctx context.Context, now time.Time, n int) ([]string, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.Ports.Due(ctx, now, n)
}
