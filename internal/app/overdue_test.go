package app_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/internal/store/storetest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// clone multiplies a waiting run, its approval and what was posted of them in the
// database: overdue, and in a thread each.
func (s *stage) clone(n int) {
	s.t.Helper()
	run := s.whole()
	approval, db, own := run.Approvals[0].ID, s.Newest().Store().Writer(), storetest.Numbered
	for _, c := range []storetest.Copies{
		{Table: "runs", Which: "id = '" + run.Run.ID + "'", N: n, Changed: map[string]string{"id": own("id"), "thread_ts": own("thread_ts")}},
		{Table: "turns", Which: "run = '" + run.Run.ID + "'", N: n, Changed: map[string]string{"run": own("run")}},
		{Table: "steps", Which: "run = '" + run.Run.ID + "'", N: n, Changed: map[string]string{"run": own("run"), "approval": own("approval"), "call_id": own("call_id")}},
		{Table: "approvals", Which: "id = '" + approval + "'", N: n, Changed: map[string]string{"id": own("id"), "run": own("run"), "thread_ts": own("thread_ts"), "requester_user": own("requester_user"), "opened_at": "1"}},
		{Table: "revisions", Which: "approval = '" + approval + "'", N: n, Changed: map[string]string{"approval": own("approval")}},
		{Table: "deliveries", Which: "subject LIKE 'approval/%/card/%'", N: n, Changed: map[string]string{"subject": "'approval/" + approval + "-' || nth || '/card/C0OPS'"}},
		{Table: "deliveries", Which: "subject = 'run/" + run.Run.ID + "/progress'", N: n, Changed: map[string]string{"subject": "'run/" + run.Run.ID + "-' || nth || '/progress'"}},
	} {
		storetest.Clone(s.t, db, c)
	}
	// All at once, and only now: the sweep would begin between two tables.
	if _, err := db.ExecContext(s.t.Context(), "UPDATE approvals SET expires_at = 2 WHERE opened_at = 1"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) number(query string) int {
	s.t.Helper()
	var n int
	if err := s.Newest().Store().Writer().QueryRowContext(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// A long outage leaves many approvals overdue. They expire in batches, in memory that
// does not grow with their number, and what people ask for and decide meanwhile does
// not wait behind their cards and runs. COUNTERSIGN_OVERDUE asks for a number of them.
func TestOverdueInBatches(t *testing.T) {
	onBoth(t, func(t *testing.T, o apptest.Options) {
		many := 700 // more than one batch
		if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_OVERDUE")); err == nil {
			many = n
		}
		o.Extra = []tools.Tool{&apptest.Counter{Name: "wipe", Risk: tools.High}}
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("Done."))
		o.Approvals = "approvals: {approvers: [manager], sweep: 500ms, resume_per_minute: 60}"
		s := start(t, o)
		s.card(s.asks("wipe x"))
		s.waits(agent.WaitingApproval)
		s.clone(many)
		began, heap := time.Now(), inUse()
		story := s.live() // while they expire
		left, peak := many, uint64(0)
		for deadline := began.Add(time.Minute + time.Duration(many)*5*time.Millisecond); left > 0; time.Sleep(100 * time.Millisecond) {
			left = s.number("SELECT count(*) FROM approvals WHERE state = 'pending' AND expires_at = 2")
			peak = max(peak, inUse())
			if time.Now().After(deadline) {
				t.Fatalf("%d are still open", left)
			}
		}
		took := time.Since(began)
		after := s.live() // while their cards are drawn anew
		grown := (int64(peak) - int64(heap)) >> 20
		t.Logf("%d expired in %s; a request with its card and click took %s and %s; the heap grew by %d MB", many, took, story, after, grown)
		if grown > 96 {
			t.Errorf("the heap grew by %d MB", grown)
		}
		if n := s.number("SELECT count(*) FROM approvals WHERE state = 'expired' AND expires_at = 2"); n != many {
			t.Errorf("%d expired, want %d", n, many)
		}
		// Their runs go on at the configured pace, not all at once.
		if n := s.number("SELECT count(*) FROM runs WHERE wake > seen AND state = 'waiting_approval' AND id LIKE '%-%'"); n < many/2 {
			t.Errorf("only %d of %d runs still wait for their turn", n, many)
		}
		if err := s.Newest().Store().VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// live plays a fresh request to its end, and says how long it took.
func (s *stage) live() time.Duration {
	s.t.Helper()
	began := time.Now()
	ask := s.asks("wipe x")
	s.mgr.Clicks(s.card(ask, slacktest.Button("approval_approve")), "approval_approve")
	s.answered(ask, "Done.")
	took := time.Since(began)
	if took > 2*time.Minute { // all the cards would take ten, at one a second
		s.t.Errorf("a fresh request took %s beside what is overdue", took)
	}
	return took
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
