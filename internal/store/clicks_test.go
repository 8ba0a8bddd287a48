package store_test

import (
	"testing"
	"time"

	"countersign/bot"
	"countersign/internal/store/storetest"
)

// A click that is taken back stays so when it arrives after all; sent again later it
// counts, and what was acted upon cannot be taken back.
func TestClickTakenBack(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		first := bot.Click{ID: "form/1", Action: "approval_reject_modal", At: db.Clock.Now()}
		again := first
		again.At = first.At.Add(time.Second)
		save := func(c bot.Click) (bool, error) { return db.SaveClick(t.Context(), c) }
		back := func(c bot.Click) (bool, error) { return db.TakeBack(t.Context(), c) }
		end := func(c bot.Click) (bool, error) { return true, db.EndClick(t.Context(), c.ID, "done", c.At) }
		for i, step := range []struct {
			do   func(bot.Click) (bool, error)
			c    bot.Click
			want bool
			open int
		}{
			{back, first, true, 0}, // before it arrived
			{save, first, false, 0},
			{back, first, true, 0},
			{save, again, true, 1},
			{back, first, false, 1}, // which is another attempt
			{back, again, true, 0},
			{save, first, false, 0},
			{save, again, false, 0},
			{save, bot.Click{ID: "form/2", At: first.At}, true, 1},
			{end, bot.Click{ID: "form/2", At: first.At}, true, 0},
			{back, bot.Click{ID: "form/2", At: first.At}, false, 0},
		} {
			got, err := step.do(step.c)
			open, failed := db.OpenClicks(t.Context(), again.At.Add(time.Second), 10)
			if err != nil || failed != nil || got != step.want || len(open) != step.open {
				t.Errorf("%d: %t with %d open (%v, %v)", i, got, len(open), err, failed)
			}
		}
	})
}
