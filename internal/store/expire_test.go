package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
)

// waiting brings many runs to where each waits for a countersignature.
func waiting(t *testing.T, db *storetest.DB, n int) []approvals.Approval {
	t.Helper()
	out := make([]approvals.Approval, n)
	for i := range out {
		in := storetest.Mention(fmt.Sprint("w", i), db.Clock.Now())
		in.Run.TS = fmt.Sprintf("1700000000.%06d", i) // a thread each
		out[i] = db.AwaitingIn(t, in)
	}
	return out
}

// ending is the end of an approval's time, as the door writes it.
func ending(c *decisions.Case, now time.Time) decisions.Change {
	a, step := &c.Approval, c.Step
	step.State, step.Code, step.Observation, step.EndedAt = agent.StepRefused, "expired", "Nobody answered.", now
	return decisions.Change{
		Run: a.Run, Approval: a.ID, Version: a.Version, From: approvals.Pending, To: approvals.Expired, At: now, Wake: true,
		Steps:  []agent.StepChange{{From: agent.StepAwaiting, Step: step}},
		Wishes: append(agent.CardWishes(a, "", now), agent.Wish{Subject: agent.ProgressSubject(a.Run), Channel: c.Run.Channel, ThreadTS: c.Run.TS}),
		Audit:  []audit.Entry{{At: now, Kind: "approval.expire", Run: a.Run, Step: a.Step, Approval: a.ID, Revision: a.Revision, Digest: a.Current().Digest, Via: "scheduler", Data: "{}"}},
	}
}

func endings(cases []decisions.Case, now time.Time) []decisions.Change {
	out := make([]decisions.Change, len(cases))
	for i := range cases {
		out[i] = ending(&cases[i], now)
	}
	return out
}

// Overdue approvals end together, and their runs are woken one after another.
func TestManyEndInOneTransaction(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		all := waiting(t, db, 5)
		before, _, err := db.AuditHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now := db.Clock.Step(time.Hour)
		due, err := db.Overdue(t.Context(), now, 10)
		if err != nil || len(due) != len(all) || due[0].Approval.Current().Digest != "digest" || due[0].Run.TS == "" || due[0].Step.State != agent.StepAwaiting {
			t.Fatalf("overdue: %+v, %v", due, err)
		}
		ends := endings(due, now)
		ends[0].ReadyAt = now
		if n, err := db.Expire(t.Context(), ends, time.Second); err != nil || n != len(all) {
			t.Fatalf("%d ended, %v", n, err)
		}
		for i := range due {
			c, err := db.Case(t.Context(), due[i].Approval.ID)
			if err != nil || c.Approval.State != approvals.Expired || c.Step.Observation != "Nobody answered." || c.Step.State != agent.StepRefused || c.Run.Wake != 2 || !c.Approval.SettledAt.Equal(now) {
				t.Errorf("%+v, %v", c, err)
			}
			if want := now.Add(time.Duration(max(i-1, 0)) * time.Second); !c.Run.ReadyAt.Equal(want) {
				t.Errorf("run %d is woken at %s, want %s", i, c.Run.ReadyAt, want)
			}
		}
		if rung := db.Bell.Take(); len(rung) != 2 { // the one that asked for now, and the first of the others
			t.Errorf("rung: %v", rung)
		}
		after, _, err := db.AuditHead(t.Context())
		if err != nil || after-before != int64(len(all)) {
			t.Errorf("%d entries, %v", after-before, err)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
		if n, err := db.Expire(t.Context(), ends, time.Second); err != nil || n != 0 {
			t.Errorf("a second time: %d, %v", n, err)
		}
	})
}

// What one sweep gave to later instants the next one counts on from, on any replica.
func TestRunsAreWokenOneAfterAnotherBySeveralSweeps(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		waiting(t, db, 6)
		now := db.Clock.Step(time.Hour)
		var ready []time.Time
		for _, at := range []*storetest.DB{db, db.Replica(t), db} {
			due, err := at.Overdue(t.Context(), now, 2)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := at.Expire(t.Context(), endings(due, now), time.Second); err != nil {
				t.Fatal(err)
			}
			for i := range due {
				c, err := db.Case(t.Context(), due[i].Approval.ID)
				if err != nil {
					t.Fatal(err)
				}
				ready = append(ready, c.Run.ReadyAt)
			}
		}
		for i, at := range ready {
			if want := now.Add(time.Duration(i) * time.Second); !at.Equal(want) {
				t.Errorf("run %d is woken at %s, want %s", i, at, want)
			}
		}
	})
}

// A click and the sweep meet: each approval has one outcome, and the record says which.
func TestClicksRaceTheSweep(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		other := db.Replica(t)
		all := waiting(t, db, 40)
		late := db.Clock.Now().Add(time.Hour)
		due, err := db.Overdue(t.Context(), late, 100)
		if err != nil || len(due) != len(all) {
			t.Fatalf("%d, %v", len(due), err)
		}
		var clicked atomic.Int64
		var both sync.WaitGroup
		both.Go(func() {
			for i := range all {
				// The clicker's clock is behind, so that only the compare-and-set decides.
				switch err := other.Record(t.Context(), verdict(&all[i], approvals.Approved, fmt.Sprint("U", i), late.Add(-time.Minute))); {
				case err == nil:
					clicked.Add(1)
				case !errors.Is(err, agent.ErrSettled):
					t.Error(err)
				}
			}
		})
		ended := 0
		both.Go(func() {
			for some := range slices.Chunk(endings(due, late), 10) {
				n, err := db.Expire(t.Context(), some, 0)
				if err != nil {
					t.Error(err)
				}
				ended += n
			}
		})
		both.Wait()
		rest, err := db.Overdue(t.Context(), late, 100)
		if err != nil || int(clicked.Load())+ended+len(rest) != len(all) {
			t.Errorf("%d clicked, %d ended, %d left of %d, %v", clicked.Load(), ended, len(rest), len(all), err)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What the sweeps ask costs what they find, not what the table holds: each plan goes
// through an index, also where thousands wait and nothing is due.
func TestSweepsReadWhatIsDue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, a := db.Awaiting(t, "1")
		own := func(columns ...string) map[string]string {
			out := map[string]string{}
			for _, c := range columns {
				out[c] = storetest.Numbered(c)
			}
			return out
		}
		storetest.Clone(t, db.Writer(), storetest.Copies{Table: "runs", Which: "id = '" + a.Run + "'", N: 3000, Changed: own("id", "asker_user")})
		storetest.Clone(t, db.Writer(), storetest.Copies{Table: "steps", Which: "run = '" + a.Run + "'", N: 3000, Changed: own("run")})
		storetest.Clone(t, db.Writer(), storetest.Copies{Table: "approvals", Which: "id = '" + a.ID + "'", N: 3000, Changed: own("id", "run")})
		storetest.Clone(t, db.Writer(), storetest.Copies{Table: "revisions", Which: "approval = '" + a.ID + "'", N: 3000, Changed: own("approval")})
		if _, err := db.Writer().ExecContext(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
		plans, err := db.Plans(t.Context(), db.Clock.Now().UnixMicro())
		if err != nil || len(plans) < 3 {
			t.Fatalf("plans: %v, %v", plans, err)
		}
		for name, plan := range plans {
			for _, table := range []string{"approvals", "runs", "steps", "revisions", "r", "s", "u"} {
				walks := strings.Contains(plan+"\n", "SCAN "+table+"\n") || strings.Contains(plan, "Seq Scan on "+table)
				if walks {
					t.Errorf("%s walks through %s:\n%s", name, table, plan)
				}
			}
			if !strings.Contains(plan, "approvals_") {
				t.Errorf("%s uses none of our indexes:\n%s", name, plan)
			}
		}
	})
}
