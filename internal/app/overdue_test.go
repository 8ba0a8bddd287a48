package app_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// clone multiplies a waiting run and its approval in the database, overdue.
func (s *stage) clone(n int) {
	s.t.Helper()
	run := s.whole()
	approval := run.Approvals[0].ID
	numbered := func(column string) string { return column + " || '-' || g" }
	s.copyRows("runs", "id = '"+run.Run.ID+"'", n, map[string]string{"id": numbered("id"), "asker_user": numbered("asker_user")})
	s.copyRows("steps", "run = '"+run.Run.ID+"'", n, map[string]string{"run": numbered("run"), "approval": numbered("approval"), "call_id": numbered("call_id")})
	s.copyRows("approvals", "id = '"+approval+"'", n, map[string]string{"id": numbered("id"), "run": numbered("run"), "requester_user": numbered("requester_user"), "opened_at": "1", "expires_at": "2"})
	s.copyRows("revisions", "approval = '"+approval+"'", n, map[string]string{"approval": numbered("approval")})
}

func (s *stage) copyRows(table, which string, n int, changed map[string]string) {
	s.t.Helper()
	db := s.Newest().Store().Writer()
	rows, err := db.QueryContext(s.t.Context(), "SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND table_schema = current_schema()", table)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	var columns, values []string
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			s.t.Fatal(err)
		}
		columns = append(columns, c)
		values = append(values, c)
		if v := changed[c]; v != "" {
			values[len(values)-1] = v
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	_, err = db.ExecContext(s.t.Context(), fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s, generate_series(1, %d) g WHERE %s",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, n, which))
	if err != nil {
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
// does not grow with their number, and what people ask for meanwhile does not wait
// behind their cards. COUNTERSIGN_OVERDUE asks for a number of them.
func TestOverdueInBatches(t *testing.T) {
	many := 300
	if n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_OVERDUE")); err == nil {
		many = n
	}
	script := apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("Done."))
	s := start(t, apptest.Options{
		Database: "postgres", Extra: []tools.Tool{&apptest.Counter{Name: "wipe", Risk: tools.High}}, Model: script,
		Approvals: "approvals: {approvers: [manager], sweep: 500ms, resume_per_minute: 60}",
	})
	s.card(s.asks("wipe x"))
	s.clone(many)
	var peak uint64
	began, heap := time.Now(), inUse()
	var waits []time.Duration
	left := many
	for left > 0 {
		if time.Since(began) > time.Duration(many)*100*time.Millisecond+30*time.Second {
			t.Fatalf("%d of %d are still pending after %s", left, many, time.Since(began))
		}
		if len(waits) < 3 {
			asked := time.Now()
			s.card(s.asks("wipe x"), slacktest.Button("approval_approve"))
			waits = append(waits, time.Since(asked))
		}
		left = s.number("SELECT count(*) FROM approvals WHERE state = 'pending' AND expires_at = 2")
		peak = max(peak, inUse())
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d expired in %s; live cards took %v; the heap grew by %d MB", many, time.Since(began), waits, (int64(peak)-int64(heap))>>20)
	if grown := int64(peak) - int64(heap); grown > 96<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
	if worst := slices.Max(waits); worst > 10*time.Second {
		t.Errorf("a live card waited %s behind the sweep", worst)
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
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
