//go:build linux

package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// What docs/operations.md says of sizing is measured here, with the program as it is
// served: people ask as fast as Slack lets them, each request takes two replies of the model and one
// tool, and what that took is printed. COUNTERSIGN_SIZING is how many ask.
func TestSizing(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("COUNTERSIGN_SIZING"))
	if err != nil || n < 1 {
		t.Skip("COUNTERSIGN_SIZING is not a number of requests; make soak measures")
	}
	for database, processes := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(database, func(t *testing.T) { measure(t, database, processes, n) })
	}
}

// sized is what is known of a database.
type sized struct {
	db     *sql.DB
	bytes  string // a question
	seen   string // how many connections the program has
	most   int
	before int64
}

func measure(t *testing.T, database string, processes, n int) {
	const channels = 40
	d := sit(t, apptest.New(t, apptest.Options{
		Database: database, Slack: []func(*localslack.Config){counters(channels)},
		Model: apptest.Play(apptest.Calls("list_files", `{"thought":"a look","path":"."}`), apptest.Says("There are three files, and none of them is new since yesterday.")),
	}))
	d.Slack.Allow(localslack.ViolationHotLoop, localslack.ViolationAckUnknown)
	d.must("migrate")
	s := size(t, d, database)
	binary := program(t)
	var all []*replica
	for range processes {
		r := &replica{d: d, binary: binary, log: logOf(t), extra: []string{"DATABASE_URL=" + named(d.URL)}}
		r.start()
		t.Cleanup(r.kill)
		all = append(all, r)
	}
	d.Until("connections of all", func() bool { return d.Slack.Server.Connections() == 2*processes })
	began := time.Now()
	for i := range n {
		d.Slack.User("ana").Says(fmt.Sprintf("#till-%d", i%channels), "@countersign which files are there, please?")
	}
	said := time.Since(began)
	s.until(t, d, "SELECT COUNT(*) FROM runs", n)
	heard := time.Since(began)
	s.until(t, d, "SELECT COUNT(*) FROM runs WHERE state = 'success'", n)
	done := time.Since(began)
	d.Until("all answers", func() bool { s.look(t); return len(d.Slack.All(slacktest.MetaHas("subject", "/answer"))) == n })
	shown := time.Since(began)
	var used time.Duration
	var memory int64
	for _, r := range all {
		r.stop()
		used += r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()
		if usage, ok := r.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = max(memory, usage.Maxrss) // in KiB
		}
	}
	grown := (s.count(t, s.bytes) - s.before) / int64(n)
	t.Logf("%s, %d process(es): %d requests in %d channels, said in %s; all runs stored after %s (%.0f a second), done after %s (%.0f a second), shown after %s; "+
		"processor %s a run; %d KiB resident at most; %d connections at most; %d bytes a run",
		database, processes, n, channels, said.Round(time.Millisecond), heard.Round(time.Millisecond), float64(n)/heard.Seconds(), done.Round(time.Millisecond),
		float64(n)/done.Seconds(), shown.Round(time.Second), (used / time.Duration(n)).Round(100*time.Microsecond), memory, s.most, grown)
	if most := 15 * processes; s.most > most {
		t.Errorf("%d connections, and the documents say %d", s.most, most)
	}
}

// named marks the program's connections, for Postgres alone.
func named(address string) string {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, "postgres") {
		return address
	}
	q := u.Query()
	q.Set("application_name", "sizing")
	u.RawQuery = q.Encode()
	return u.String()
}

func size(t *testing.T, d *desk, database string) *sized {
	t.Helper()
	s := &sized{
		bytes: "SELECT SUM(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'",
		seen:  "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'sizing'",
	}
	driver, address := "pgx", d.URL
	if database == "sqlite" {
		driver, address = "sqlite3", "file:"+strings.TrimPrefix(d.URL, "sqlite:")
		s.bytes, s.seen = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", "SELECT 0"
	}
	var err error
	if s.db, err = sql.Open(driver, address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() }) // it only read
	s.before = s.count(t, s.bytes)
	return s
}

func (s *sized) count(t *testing.T, question string) (n int64) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), question).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *sized) look(t *testing.T) { s.most = max(s.most, int(s.count(t, s.seen))) }

func (s *sized) until(t *testing.T, d *desk, question string, n int) {
	t.Helper()
	d.Until(fmt.Sprintf("%d for %s", n, question), func() bool { s.look(t); return s.count(t, question) >= int64(n) })
}
