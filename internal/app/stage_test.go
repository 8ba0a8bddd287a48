package app_test

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/internal/record"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// onBoth runs a story on both databases.
func onBoth(t *testing.T, f func(t *testing.T, o apptest.Options)) {
	t.Helper()
	for _, db := range []string{"sqlite", "postgres"} {
		t.Run(db, func(t *testing.T) {
			t.Parallel()
			f(t, apptest.Options{Database: db})
		})
	}
}

// steadyLease is a short lease for tests that wait until one is over. It is no shorter:
// a call whose commit takes half of a lease twice is given up, as it should be, and those
// tests are about calls that are made.
const steadyLease = 3 * time.Second

// answer is a run's answer in the thread.
var answer = slacktest.MetaHas("subject", "/answer")

// stage is a world with its people on it.
type stage struct {
	*apptest.World
	t                            *testing.T
	ana, mgr, fin, oli, gus, eve slacktest.Person
}

// start opens a world with one running process.
func start(t *testing.T, o apptest.Options) *stage {
	t.Helper()
	s := stageOf(t, apptest.New(t, o))
	s.Run()
	return s
}

func stageOf(t *testing.T, w *apptest.World) *stage {
	t.Helper()
	return &stage{
		World: w, t: t, ana: w.Slack.User("ana"), mgr: w.Slack.User("mgr"), fin: w.Slack.User("fin"),
		oli: w.Slack.User("oli"), gus: w.Slack.User("gus"), eve: w.Slack.User("eve"),
	}
}

// asks posts a request of Ana's in #ops.
func (s *stage) asks(request string) slacktest.Message {
	s.t.Helper()
	return s.ana.Says("#ops", "@countersign "+request)
}

// card waits for a card that can be decided.
func (s *stage) card(ask slacktest.Message, more ...slacktest.Match) slacktest.Message {
	s.t.Helper()
	return s.Slack.Expect(append([]slacktest.Match{slacktest.InThread(ask), slacktest.Button("approval_reject")}, more...)...)
}

// answered waits for an answer with these texts.
func (s *stage) answered(ask slacktest.Message, parts ...string) slacktest.Message {
	s.t.Helper()
	wanted := []slacktest.Match{slacktest.InThread(ask), answer}
	for _, p := range parts {
		wanted = append(wanted, slacktest.Text(p))
	}
	return s.Slack.Expect(wanted...)
}

// told waits for the one private sentence to a person.
func (s *stage) told(who slacktest.Person, part string) {
	s.t.Helper()
	s.Slack.Expect(slacktest.OnlyFor(who), slacktest.Text(part))
}

// pressesWhenThere presses a button of a message that is being drawn anew.
func (s *stage) pressesWhenThere(who slacktest.Person, m slacktest.Message, action string) {
	s.t.Helper()
	s.Until("the button "+action, func() bool {
		out, err := who.Press(localslack.Click{Channel: m.Channel, TS: m.TS, ActionID: action})
		return err == nil && out.Acked
	})
}

// whole is everything about the only run.
func (s *stage) whole() *record.Whole {
	s.t.Helper()
	runs, err := s.Newest().Store().Runs(s.t.Context(), false, 10)
	if err != nil || len(runs) != 1 {
		s.t.Fatalf("want one run, have %d (%v)", len(runs), err)
	}
	w, err := s.Newest().Store().Whole(s.t.Context(), runs[0].ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// waits until the only run is in a state.
func (s *stage) waits(state agent.RunState) *record.Whole {
	s.t.Helper()
	var w *record.Whole
	s.Until("a run that is "+string(state), func() bool { w = s.whole(); return w.Run.State == state })
	return w
}

// effects are the one lines of what the run changed.
func effects(w *record.Whole) []string {
	var out []string
	for _, s := range w.Steps {
		if s.Effect != "" {
			out = append(out, s.Effect)
		}
	}
	return out
}

// audited says whether the record holds an entry of a kind by a person, with these texts in it.
func audited(w *record.Whole, kind, user string, parts ...string) bool {
	for _, e := range w.Audit {
		if e.Kind == kind && e.User == user && containsAll(e.Data, parts) {
			return true
		}
	}
	return false
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// mustAudit fails when the record lacks an entry or its chain is broken.
func (s *stage) mustAudit(w *record.Whole, kind, user string, parts ...string) {
	s.t.Helper()
	if !audited(w, kind, user, parts...) {
		s.t.Errorf("the record holds no %s by %q with %q:\n%s", kind, user, parts, inWords(w))
	}
	if err := s.Newest().Store().VerifyAudit(s.t.Context()); err != nil {
		s.t.Errorf("audit: %v", err)
	}
}

func inWords(w *record.Whole) string {
	text, err := json.MarshalIndent(w.Audit, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// order is the status of one order of the shop.
func (s *stage) order(id int) string {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.Dir, "shop.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var status string
	if err := db.QueryRowContext(s.t.Context(), "SELECT status FROM orders WHERE id = ?", id).Scan(&status); err != nil {
		s.t.Fatal(err)
	}
	return status
}
