package app_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// updatesShop is a model that changes an order in the database that is called shop.
func updatesShop() *apptest.Script {
	return apptest.Play(apptest.Calls("execute_sql", `{"thought":"asked","database":"shop","sql":"UPDATE orders SET status = 'elsewhere' WHERE id = 7"}`), apptest.Says("Done."))
}

// copyShop copies the database as it is.
func (s *stage) copyShop(to string) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.Dir, "shop.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(s.t.Context(), "VACUUM INTO ?", to); err != nil {
		s.t.Fatal(err)
	}
}

// copiesShop copies the database as it is. The first function then gives the name shop
// to the copy, by a reload; the second counts the rows that were changed there.
func (s *stage) copiesShop(t *testing.T) (move func(), changedThere func() float64) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	s.copyShop(copied)
	move = func() {
		s.reload(s.changed(func(text string, _ map[string]string) string {
			return strings.Replace(text, "sqlite:"+s.Dir+"/shop.db", "sqlite:"+copied, 1)
		}))
	}
	return move, func() float64 { return s.amountIn(copied, "SELECT count(*) FROM orders WHERE status = 'elsewhere'") }
}

// A card is for the database that was there under the name when it was shown.
func TestApprovedStatementElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Model: updatesShop()})
	ask := s.asks("set it")
	card := s.card(ask)
	move, there := s.copiesShop(t)
	move()
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	fresh := s.card(ask, slacktest.Text("the tool itself changed"))
	if n := there(); n != 0 {
		t.Fatalf("%v rows changed in a database that nobody was asked about", n)
	}
	s.mgr.Clicks(fresh, "approval_approve")
	s.answered(ask, "Done.")
	if n := there(); n != 1 {
		t.Errorf("%v rows", n)
	}
}

// grants gives a standing grant on the card of a first call, which somebody approves.
func (s *stage) grants(request string) {
	s.t.Helper()
	ask := s.asks(request)
	card := s.card(ask)
	s.mgr.Clicks(card, "approval_approve")
	s.answered(ask, "Done.")
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_open"))
	if errs := s.gives(s.mgr, card, "3"); len(errs) > 0 {
		s.t.Fatal(errs)
	}
	s.Slack.ExpectUpdate(card, slacktest.Button("grant_revoke"))
}

const grantsAllowed = "approvals: {approvers: [manager, finance], grants: {count: 3, within: 1h}, sweep: 200ms}"

// A standing grant is for the database that it was given for, whatever has its name now.
func TestStandingGrantOnAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{
		Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Approvals: grantsAllowed,
		YAML: "limits: {open_approvals: {per_run: 5, per_asker: 50}}\n", Model: updatesShop(),
	})
	move, there := s.copiesShop(t)
	s.grants("set it")
	move()
	s.card(s.asks("set it again"))
	if n := there(); n != 0 {
		t.Errorf("%v rows changed in a database that nobody was asked about", n)
	}
}

// A standing grant is for the service that it was given for: not for the one that a
// description of an interface names after a reload.
func TestStandingGrantOnAnotherServer(t *testing.T) {
	t.Parallel()
	a, _ := counting(t, created)
	b, atB := counting(t, created)
	file := filepath.Join(t.TempDir(), "shop.json")
	describe := func(server string) {
		text := `{"openapi":"3.1.0","servers":[{"url":"` + server + `"}],"paths":{"/orders/{id}":{
		"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],"delete":{"operationId":"dropOrder"}}}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	describe(a)
	s := start(t, apptest.Options{
		Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Approvals: grantsAllowed,
		YAML:  "  openapi:\n    - {file: " + file + ", private_network: true, operations: [{id: dropOrder, name: drop}]}\nlimits: {open_approvals: {per_run: 5, per_asker: 50}}\n",
		Model: apptest.Play(apptest.Calls("drop", `{"thought":"asked","id":"7"}`), apptest.Says("Done.")),
	})
	s.grants("drop it")
	describe(b)
	s.reload(s.Config())
	s.card(s.asks("drop it again"), slacktest.Text(b))
	if atB.Load() != 0 {
		t.Errorf("%d calls of a service that nobody was asked about", atB.Load())
	}
}

// Once people gave up finding out what became of a call under a grant, the grant is over.
func TestStandingGrantIsVoidWhenAnOutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(2)
		s, card, _ := granted(t, o, count)
		ask := s.asks("wipe thing-a")
		question := s.Slack.Expect(slacktest.InThread(ask), slacktest.Button("uncertain_stop"))
		s.pressesWhenThere(s.fin, question, "uncertain_stop")
		s.Slack.ExpectUpdate(card, slacktest.NoButton("grant_revoke"), slacktest.Text("It is void"))
		s.card(s.asks("wipe thing-a"))
		if count.Count() != 2 {
			t.Errorf("%d calls", count.Count())
		}
		s.mustHaveRecorded(map[string]int{"grant.void": 1, "grant.used": 1})
	})
}

// Retention keeps what a standing grant rests for.
func TestRetentionKeepsWhatAGrantRestsFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := unwiper(2)
		o.YAML = "\nretention: {runs: 24h}\n"
		s, _, p := granted(t, o, count)
		ask := s.asks("wipe thing-a")
		s.question(ask)
		s.ana.Replies(ask, "@countersign stop")
		s.Until("an end", func() bool { return s.number("SELECT count(*) FROM runs WHERE state = 'cancelled'") == 1 })
		s.writes("UPDATE runs SET ended_at = ended_at - 90000000000") // 25 hours
		s.Stop(p)
		s.Run()
		s.card(s.asks("wipe thing-a"))
		if n := s.number("SELECT count(*) FROM steps WHERE state = 'uncertain'"); n != 1 || count.Count() != 2 {
			t.Errorf("%d unknown, %d calls", n, count.Count())
		}
	})
}

// The schema that an address of Postgres chooses is a part of the place.
func TestApprovedStatementInAnotherSchema(t *testing.T) {
	t.Parallel()
	address := apptest.Postgres(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"CREATE SCHEMA staging", "CREATE SCHEMA prod", "CREATE TABLE staging.orders (id int primary key)", "CREATE TABLE prod.orders (id int primary key)"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, apptest.Options{
		Env:   map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)},
		Model: apptest.Play(apptest.Calls("execute_sql", `{"thought":"asked","database":"shop","sql":"DROP TABLE orders"}`), apptest.Says("Done.")),
	})
	to := func(schema string) {
		s.reload(s.changed(func(text string, _ map[string]string) string {
			return strings.Replace(text, "sqlite:"+s.Dir+"/shop.db", address+"&search_path="+schema, 1)
		}))
	}
	to("staging")
	ask := s.asks("drop the staging orders")
	card := s.card(ask)
	to("prod")
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	s.card(ask, slacktest.Text("the tool itself changed"))
	var there bool
	if err := db.QueryRowContext(t.Context(), "SELECT to_regclass('prod.orders') IS NOT NULL").Scan(&there); err != nil || !there {
		t.Errorf("the table of a schema that nobody was asked about is gone (%v)", err)
	}
}

// A standing grant is for one tenant, which a header may name.
func TestStandingGrantForAnotherTenant(t *testing.T) {
	t.Parallel()
	a, reached := counting(t, created)
	yaml := strings.Replace(placed(false), "      risk: high\n", "      risk: high\n      headers: {X-Tenant: staging}\n", 1)
	s := start(t, apptest.Options{
		Env: map[string]string{"WIPE_URL": a, "COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Approvals: grantsAllowed,
		YAML:  strings.Replace(yaml, "limits: {", "limits: {open_approvals: {per_run: 5, per_asker: 50}, ", 1),
		Model: apptest.Play(apptest.Calls("wipe_host", `{"thought":"asked for","what":"doc_42"}`), apptest.Says("Done.")),
	})
	s.grants("wipe doc_42")
	s.reload(s.changed(func(text string, _ map[string]string) string {
		return strings.Replace(text, "X-Tenant: staging", "X-Tenant: prod", 1)
	}))
	s.card(s.asks("wipe doc_42"))
	if reached.Load() != 1 {
		t.Errorf("%d calls", reached.Load())
	}
}

// A card is for the file to which a link led when it was shown.
func TestApprovedStatementBehindALink(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "current.db")
	s := start(t, apptest.Options{Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}, Model: updatesShop()})
	copied := filepath.Join(s.Dir, "copy.db")
	s.copyShop(copied)
	point := func(to string) {
		if err := errors.Join(os.RemoveAll(link), os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
	}
	point(filepath.Join(s.Dir, "shop.db"))
	s.reload(s.changed(func(text string, _ map[string]string) string {
		return strings.Replace(text, "sqlite:"+s.Dir+"/shop.db", "sqlite:"+link, 1)
	}))
	ask := s.asks("set it")
	card := s.card(ask)
	point(copied)
	s.pressesWhenThere(s.mgr, card, "approval_approve")
	s.card(ask, slacktest.Text("the tool itself changed"))
	if n := s.amountIn(copied, "SELECT count(*) FROM orders WHERE status = 'elsewhere'"); n != 0 {
		t.Errorf("%v rows changed in a database that nobody was asked about", n)
	}
}

// Our own database is known by what is in it: under an address that says nothing (another
// name of the host, a tunnel, a pooler) no tool reaches the rows that approvals are.
func TestOwnDatabaseIsKnownByItsTables(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "twin.db")
	for db, address := range map[string]string{"sqlite": "sqlite:" + copied, "postgres": apptest.Postgres(t)} {
		t.Run(db, func(t *testing.T) {
			o := apptest.Options{Database: db}
			if db == "postgres" {
				o.Database = address
			}
			ours := start(t, o)
			if db == "sqlite" {
				ours.writes("VACUUM INTO '" + copied + "'")
			}
			s := settled(t, apptest.Options{Model: caller()})
			s.reload(s.changed(func(text string, _ map[string]string) string {
				return strings.Replace(text, "sqlite:"+s.Dir+"/shop.db", address, 1)
			}))
			for _, call := range []string{
				`query_sql {"thought":"look","database":"shop","sql":"SELECT id, state FROM approvals"}`, `get_schema {"thought":"look","database":"shop"}`,
				`execute_sql {"thought":"asked","database":"shop","sql":"UPDATE approvals SET state = 'approved'"}`,
			} {
				s.answered(s.asks("call "+call), "It said", "no tool may reach it")
			}
		})
	}
}
