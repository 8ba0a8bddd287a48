package store_test

import (
	"testing"

	"countersign/internal/store/storetest"
)

func TestPins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		for _, want := range []string{"", "one", "two"} {
			if want != "" {
				if err := db.Pin(t.Context(), "s", "tool", want); err != nil {
					t.Fatal(err)
				}
			}
			hash, ok, err := db.Pinned(t.Context(), "s", "tool")
			if err != nil || hash != want || ok != (want != "") {
				t.Errorf("pinned %q, %v, %v; want %q", hash, ok, err, want)
			}
		}
		if _, ok, err := db.Pinned(t.Context(), "other", "tool"); ok || err != nil {
			t.Errorf("another server's tool: %v, %v", ok, err)
		}
	})
}
