package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/store/storetest"
)

// The latest sighting counts, in whatever order the replicas note theirs.
func TestSightings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		now := db.Clock.Now().UTC()
		for _, s := range []struct {
			team, kind string
			at         time.Time
		}{{"T1", "app_mention", now}, {"T1", "app_mention", now.Add(-time.Hour)}, {"T1", "message.im", now.Add(-time.Hour)}, {"T1", "message.im", now}, {"T2", "app_mention", now.Add(time.Hour)}} {
			if err := db.Sighted(t.Context(), s.team, s.kind, s.at); err != nil {
				t.Fatal(err)
			}
		}
		got, err := db.Sightings(t.Context(), "T1")
		if diff := cmp.Diff(map[string]time.Time{"app_mention": now, "message.im": now}, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}
