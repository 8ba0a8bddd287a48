package store_test

import (
	"errors"
	"testing"

	"countersign/agent"
	"countersign/internal/audit"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

// The first contract is accepted; another one is offered until somebody accepts exactly
// it, or the server takes it back.
func TestPins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ctx := t.Context()
		seen := func(hash, want string) {
			t.Helper()
			accepted, err := db.Seen(ctx, "s", "tool", hash, "words "+hash)
			if err != nil || accepted != want {
				t.Errorf("seen %s: accepted %q, %v; want %q", hash, accepted, err, want)
			}
		}
		one := func() *store.Pin {
			t.Helper()
			all, err := db.Pins(ctx)
			if err != nil || len(all) != 1 {
				t.Fatalf("pins %+v, %v", all, err)
			}
			return &all[0]
		}
		seen("one", "one")
		if p := one(); p.Contract != "words one" || p.OfferedHash != "" || p.Since().IsZero() {
			t.Errorf("first: %+v", p)
		}
		seen("two", "one")
		offered := one()
		if offered.Contract != "words one" || offered.Offered != "words two" {
			t.Errorf("offered: %+v", offered)
		}
		seen("one", "one") // the server took it back
		if p := one(); p.OfferedHash != "" || p.Offered != "" {
			t.Errorf("taken back: %+v", p)
		}
		entry := audit.Entry{At: db.Clock.Now(), Kind: "tool.accepted", Via: "test"}
		if err := db.AcceptPin(ctx, offered, entry); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("what is not offered any more was accepted: %v", err)
		}
		seen("three", "one")
		if err := db.AcceptPin(ctx, offered, entry); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("something else is offered than what was looked at: %v", err)
		}
		if err := db.AcceptPin(ctx, one(), entry); err != nil {
			t.Fatal(err)
		}
		seen("three", "three")
		if err := db.Pin(ctx, "s", "tool", "four", "words four"); err != nil {
			t.Fatal(err)
		}
		seen("four", "four")
		if err := db.VerifyAudit(ctx); err != nil {
			t.Error(err)
		}
	})
}
