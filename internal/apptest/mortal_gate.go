package apptest

import (
	"context"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Nudge is a commit.
func (m *Mortal) Nudge(ctx context.Context, n decisions.Nudge) error {
	return m.commit(func() error { return m.Ports.Nudge(ctx, n) })
}

// Lock is a commit.
func (m *Mortal) Lock(ctx context.Context, who policy.Actor, why string, wishes []agent.Wish, e []audit.Entry) (fresh bool, err error) {
	err = m.commit(func() (err error) { fresh, err = m.Ports.Lock(ctx, who, why, wishes, e); return err })
	return fresh, err
}

// TryCode is a commit.
func (m *Mortal) TryCode(ctx context.Context, who policy.Actor, most int) (tries int, err error) {
	err = m.commit(func() (err error) { tries, err = m.Ports.TryCode(ctx, who, most); return err })
	return tries, err
}

// UseCode is a commit.
func (m *Mortal) UseCode(ctx context.Context, who policy.Actor, step int64) (fresh bool, err error) {
	err = m.commit(func() (err error) { fresh, err = m.Ports.UseCode(ctx, who, step); return err })
	return fresh, err
}

// Expire is a commit.
func (m *Mortal) Expire(ctx context.Context, ends []decisions.Change, gap time.Duration) (n int, err error) {
	err = m.commit(func() (err error) { n, err = m.Ports.Expire(ctx, ends, gap); return err })
	return n, err
}

// Answer is a commit.
func (m *Mortal) Answer(ctx context.Context, r approvals.Review, wishes []agent.Wish, e []audit.Entry) error {
	return m.commit(func() error { return m.Ports.Answer(ctx, r, wishes, e) })
}

// StartGrant is a commit.
func (m *Mortal) StartGrant(ctx context.Context, g approvals.Grant, card int64, wishes []agent.Wish, e []audit.Entry) error {
	return m.commit(func() error { return m.Ports.StartGrant(ctx, g, card, wishes, e) })
}

// EndGrant is a commit.
func (m *Mortal) EndGrant(ctx context.Context, g approvals.Grant, wishes []agent.Wish, e []audit.Entry) error {
	return m.commit(func() error { return m.Ports.EndGrant(ctx, g, wishes, e) })
}
