package store_test

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/audit"
	"countersign/internal/store"
	"countersign/internal/store/storetest"
)

// ended brings a run of the asker to its end now; it leaves an approval behind.
func ended(t *testing.T, db *storetest.DB, key string) string {
	t.Helper()
	run, a := db.Awaiting(t, key)
	now := db.Clock.Now()
	if err := db.Record(t.Context(), verdict(&a, approvals.Rejected, "U9"+key, now)); err != nil {
		t.Fatal(err)
	}
	r, f := db.Claimed(t, run, "worker")
	r.State, r.Halt, r.Answer, r.EndedAt = agent.Success, agent.HaltDone, "Nothing was done.", now
	_, err := db.Commit(t.Context(), f, agent.Change{
		Run: &r, Park: true, Wishes: []agent.Wish{{Subject: agent.AnswerSubject(run), Channel: storetest.Channel}},
		Audit: []audit.Entry{{Kind: "run.ended", Run: run}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func count(t *testing.T, db *storetest.DB, from string) string {
	t.Helper()
	return texts(t, db, "SELECT count(*) FROM "+from)[0]
}

// What retention leaves of a run is its audit.
//
// Row B31.
func TestDeleteRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		old := ended(t, db, "1")
		db.Clock.Step(time.Hour)
		limit := db.Clock.Now()
		young := ended(t, db, "2")
		waiting, _ := db.Awaiting(t, "3")
		entries := count(t, db, "audit_entries")

		n, err := db.DeleteRuns(t.Context(), limit)
		if err != nil || n != 1 {
			t.Fatalf("deleted %d, %v", n, err)
		}
		if n, err := db.DeleteRuns(t.Context(), limit); err != nil || n != 0 {
			t.Errorf("once more: %d, %v", n, err)
		}
		for _, run := range []string{young, waiting} {
			if w, err := db.Whole(t.Context(), run); err != nil || len(w.Approvals) != 1 || len(w.Deliveries) < 1 {
				t.Errorf("run %s: %+v, %v", run, w, err)
			}
		}
		if _, err := db.Whole(t.Context(), old); err == nil {
			t.Error("the run is still there")
		}
		for _, from := range []string{
			"runs WHERE id = '" + old + "'", "steps WHERE run = '" + old + "'", "turns WHERE run = '" + old + "'", "approvals WHERE run = '" + old + "'",
			"deliveries WHERE subject LIKE 'run/" + old + "/%'",
			"decisions d WHERE NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = d.approval)",
			"deliveries d WHERE subject LIKE 'approval/%' AND NOT EXISTS (SELECT 1 FROM approvals a WHERE d.subject LIKE 'approval/' || a.id || '/%')",
		} {
			if got := count(t, db, from); got != "0" {
				t.Errorf("%s rows are left of %s", got, from)
			}
		}
		if got := count(t, db, "audit_entries WHERE run = '"+old+"'"); got == "0" || count(t, db, "audit_entries") <= entries {
			t.Errorf("the audit lost entries: %s of the run, %s before", got, entries)
		}
		if err := db.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestABudgetKeepsItsRun(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run := ended(t, db, "1")
		until := db.Clock.Now().Add(48 * time.Hour)
		_, err := db.Writer().ExecContext(t.Context(), "INSERT INTO budget_uses (budget, run, step, amount, at, until) VALUES ('b', '"+run+"', 1, 1, 1, "+micros(until)+")")
		if err != nil {
			t.Fatal(err)
		}
		now := db.Clock.Step(24 * time.Hour)
		if n, err := db.DeleteRuns(t.Context(), now); err != nil || n != 0 {
			t.Errorf("deleted %d, %v: the budget would count less", n, err)
		}
		now = db.Clock.Step(48 * time.Hour)
		if n, err := db.DeleteRuns(t.Context(), now); err != nil || n != 1 {
			t.Errorf("deleted %d, %v", n, err)
		}
	})
}

func TestManyRunsGoInBatches(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	for i := range 130 {
		now := db.Clock.Now()
		in := storetest.Mention(time.Duration(i).String(), now)
		in.Run.TS = time.Duration(i).String() // a thread of its own
		if _, err := db.Accept(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Writer().ExecContext(t.Context(), "UPDATE runs SET state = 'failed', ended_at = 1"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{100, 30, 0} {
		if n, err := db.DeleteRuns(t.Context(), db.Clock.Now()); err != nil || n != want {
			t.Errorf("deleted %d, wanted %d, %v", n, want, err)
		}
	}
}

// A backup taken while others write is the database of one moment, and a process
// goes on from it.
func TestBackup(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	run, a := db.Awaiting(t, "1")
	writing, stop := make(chan error, 1), make(chan struct{})
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				writing <- nil
				return
			default:
				_, err = db.SeenEvent(t.Context(), time.Duration(i).String(), db.Clock.Now())
			}
		}
		writing <- err
	}()
	file := filepath.Join(t.TempDir(), "backup.db")
	if err := db.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	close(stop)
	if err := <-writing; err != nil {
		t.Errorf("a writer failed during the backup: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := db.Backup(t.Context(), file); err == nil {
		t.Error("a backup was overwritten")
	}
	restored := reopen(t, db, "sqlite:"+file)
	if err := restored.CheckFile(t.Context()); err != nil {
		t.Error(err)
	}
	goesOn(t, restored, run, a.ID)
}

// reopen opens another database with the clock of the first.
func reopen(t *testing.T, db *storetest.DB, url string) *storetest.DB {
	t.Helper()
	out := &storetest.DB{URL: url, Clock: db.Clock, Bell: &storetest.Bell{}, Wished: &storetest.Counter{}}
	s, err := store.Open(t.Context(), store.Config{URL: url, Bell: out.Bell, OnWish: out.Wished.Add, Now: db.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	out.Store = s
	return out
}

// goesOn checks that a run that waits for a person goes on when one has decided, and
// that the audit is whole.
func goesOn(t *testing.T, db *storetest.DB, run, approval string) {
	t.Helper()
	got, err := db.Case(t.Context(), approval)
	if err != nil {
		t.Fatal(err)
	}
	if got.Approval.State != approvals.Pending || got.Run.State != agent.WaitingApproval || string(got.Approval.Current().Args) != `{"id":"doc_42"}` {
		t.Fatalf("approval %s of a run that is %s: %s", got.Approval.State, got.Run.State, got.Approval.Current().Args)
	}
	now := db.Clock.Now()
	if err := db.Record(t.Context(), verdict(&got.Approval, approvals.Approved, "U9", now)); err != nil {
		t.Fatal(err)
	}
	r, _ := db.Claimed(t, run, "another worker")
	w, err := db.Whole(t.Context(), run)
	if err != nil || len(w.Steps) != 1 || w.Steps[0].Tool != "delete_document" || r.Request != "delete document doc_42" {
		t.Errorf("%+v, %v", w, err)
	}
	if err := db.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPostgresHasItsOwnBackup(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	if err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("%v", err)
	}
}

// The documented way for Postgres: dump, restore into an empty database, go on.
func TestDumpAndRestore(t *testing.T) {
	t.Parallel()
	dump, restore := program(t, "pg_dump"), program(t, "pg_restore")
	db := storetest.Postgres(t)
	run, a := db.Awaiting(t, "1")
	file := filepath.Join(t.TempDir(), "countersign.dump")
	command(t, dump, "--format=custom", "--file="+file, db.URL)
	name := strings.ToLower(run) + "restored"
	if _, err := db.Writer().ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(db.URL, texts(t, db, "SELECT current_database()")[0], name, 1)
	command(t, restore, "--exit-on-error", "--no-owner", "--dbname="+url, file)
	restored := reopen(t, db, url)
	t.Cleanup(func() {
		if err := restored.Close(); err != nil {
			t.Error(err)
		}
		_, _ = db.Writer().Exec("DROP DATABASE " + name + " WITH (FORCE)")
	})
	if err := restored.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	goesOn(t, restored, run, a.ID)
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := osexec.LookPath(name)
	if err != nil {
		if os.Getenv("TEST_POSTGRES") == "require" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := osexec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	from, to := storetest.SQLite(t), storetest.Postgres(t)
	done := ended(t, from, "1")
	run, a := from.Awaiting(t, "2")
	moved, err := to.MoveFrom(t.Context(), from.Store, audit.Entry{Kind: "database.moved", Via: "cli, ops@host"})
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for i, m := range moved {
		places[m.Table] = i
		want := count(t, from, m.Table)
		if m.Table == "audit_entries" {
			continue // one more: the move
		}
		if got := count(t, to, m.Table); got != want || fmt.Sprint(m.Rows) != want {
			t.Errorf("%s: %s rows of %s, %d reported", m.Table, got, want, m.Rows)
		}
	}
	if len(moved) < 19 || places["runs"] > places["steps"] || places["approvals"] > places["revisions"] {
		t.Errorf("moved %v", moved)
	}
	before, err1 := from.Whole(t.Context(), done)
	after, err2 := to.Whole(t.Context(), done)
	if diff := cmp.Diff(before, after); diff != "" || err1 != nil || err2 != nil {
		t.Errorf("%v, %v, %s", err1, err2, diff)
	}
	if _, hash, err := to.AuditHead(t.Context()); err != nil || hash == "" {
		t.Error(err)
	}
	if _, err := to.MoveFrom(t.Context(), from.Store, audit.Entry{}); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("moved twice: %v", err)
	}
	to.Clock = from.Clock
	goesOn(t, to, run, a.ID)
}

// What cannot be copied whole is not copied at all.
func TestMoveIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	from, to := storetest.SQLite(t), storetest.Postgres(t)
	ended(t, from, "1")
	if _, err := from.Writer().ExecContext(t.Context(), "ALTER TABLE locks ADD COLUMN more TEXT; INSERT INTO locks VALUES ('T', 'U', '', 1, '')"); err != nil {
		t.Fatal(err)
	}
	if _, err := to.MoveFrom(t.Context(), from.Store, audit.Entry{Kind: "database.moved"}); err == nil || !strings.Contains(err.Error(), "more") {
		t.Errorf("moved: %v", err)
	}
	if count(t, to, "runs") != "0" || count(t, to, "audit_head") != "1" {
		t.Error("half of it was moved")
	}
	if _, err := from.Writer().ExecContext(t.Context(), "UPDATE audit_entries SET kind = 'other' WHERE seq = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := to.MoveFrom(t.Context(), from.Store, audit.Entry{}); !errors.Is(err, audit.ErrChain) {
		t.Errorf("a broken chain was moved: %v", err)
	}
	if _, err := from.MoveFrom(t.Context(), to.Store, audit.Entry{}); err == nil {
		t.Error("the way back does not exist")
	}
}

func micros(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }
