package store_test

import (
	"testing"
	"time"

	"countersign/internal/store/storetest"
)

// Row B31.
func TestForget(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		then := db.Clock.Now()
		in := storetest.Mention("1", then)
		if _, err := db.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Forget(t.Context(), then); err != nil || n != 0 {
			t.Errorf("forgot %d rows that are not older, %v", n, err)
		}
		if n, err := db.Forget(t.Context(), then.Add(time.Second)); err != nil || n != 1 {
			t.Errorf("forgot %d rows, %v", n, err)
		}
		if fresh, err := db.SeenEvent(t.Context(), in.Key, db.Clock.Now()); err != nil || !fresh {
			t.Errorf("the key is still there: %v", err)
		}
	})
}
