package store_test

import (
	"errors"
	"testing"

	"countersign/agent"
	"countersign/internal/audit"
	"countersign/internal/store/storetest"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, _ := db.Awaiting(t, "1.1")
		entry := audit.Entry{Kind: "run.stop", Run: run, Via: "cli, somebody@here"}
		m := agent.Message{ID: "m1", Run: run, Kind: agent.Stop, Text: "stop", At: db.Clock.Now()}
		if err := db.Order(t.Context(), run, &m, entry); err != nil {
			t.Fatal(err)
		}
		if rung := db.Bell.Take(); len(rung) != 1 || rung[0] != run {
			t.Errorf("rung: %v", rung)
		}
		w, err := db.Load(t.Context(), run)
		if err != nil || len(w.Inbox) != 1 || w.Inbox[0].Kind != agent.Stop || w.Run.Wake <= w.Run.Seen {
			t.Fatalf("%+v, %v", w, err)
		}
		wake := w.Run.Wake
		if err := db.Order(t.Context(), run, nil, audit.Entry{Kind: "run.resume", Run: run, Via: "cli, somebody@here"}); err != nil {
			t.Fatal(err)
		}
		if w, err = db.Load(t.Context(), run); err != nil || w.Run.Wake != wake+1 || len(w.Inbox) != 1 {
			t.Errorf("%+v, %v", w, err)
		}
		entries, err := db.AuditEntries(t.Context(), 0, 100)
		if err != nil || len(entries) < 2 || entries[len(entries)-2].Kind != "run.stop" || entries[len(entries)-1].Via != "cli, somebody@here" {
			t.Errorf("audit: %+v, %v", entries, err)
		}
	})
}

func TestOrderToNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		ended := db.Start(t, "1.1")
		r, f := db.Claimed(t, ended, "worker")
		r.State, r.EndedAt = agent.Cancelled, db.Clock.Now()
		if _, err := db.Commit(t.Context(), f, agent.Change{Run: &r, Park: true}); err != nil {
			t.Fatal(err)
		}
		before, _, err := db.AuditHead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for run, want := range map[string]error{ended: agent.ErrSettled, "r_none": agent.ErrNotFound} {
			m := agent.Message{ID: "m" + run, Run: run, Kind: agent.Stop, At: db.Clock.Now()}
			for _, message := range []*agent.Message{nil, &m} {
				if err := db.Order(t.Context(), run, message, audit.Entry{Kind: "run.stop", Run: run}); !errors.Is(err, want) {
					t.Errorf("%s: %v", run, err)
				}
			}
		}
		if after, _, err := db.AuditHead(t.Context()); err != nil || after != before {
			t.Errorf("an order that did not count was audited: %d, %d, %v", before, after, err)
		}
	})
}

func TestWhole(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		run, approval := db.Awaiting(t, "1.1")
		if err := db.Wish(t.Context(), []agent.Wish{{Subject: "approval/" + approval.ID + "/card/C1", Channel: "C1"}, {Subject: "home/U1"}}, db.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		m := agent.Message{ID: "m1", Run: run, Kind: agent.FollowUp, Text: "and quickly", At: db.Clock.Now()}
		if err := db.Tell(t.Context(), m, ""); err != nil {
			t.Fatal(err)
		}
		w, err := db.Whole(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if w.Run.ID != run || len(w.Turns) != 1 || len(w.Steps) != 1 || len(w.Inbox) != 1 || len(w.Audit) != 2 {
			t.Errorf("%+v", w)
		}
		if len(w.Approvals) != 1 || string(w.Approvals[0].Current().Args) != `{"id":"doc_42"}` {
			t.Errorf("approvals: %+v", w.Approvals)
		}
		var subjects []string
		for _, d := range w.Deliveries {
			subjects = append(subjects, d.Subject)
		}
		if len(subjects) != 2 || subjects[0] != "approval/"+approval.ID+"/card/C1" || subjects[1] != "run/"+run+"/progress" {
			t.Errorf("deliveries: %v", subjects)
		}
		if _, err := db.Whole(t.Context(), "r_none"); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("none: %v", err)
		}
	})
}

func TestCases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *storetest.DB) {
		_, approval := db.Awaiting(t, "1.1")
		pending, err := db.Cases(t.Context(), false, 10)
		if err != nil || len(pending) != 1 || pending[0].Approval.ID != approval.ID || pending[0].Step.Tool != "delete_document" {
			t.Fatalf("%+v, %v", pending, err)
		}
		if _, err := db.Writer().ExecContext(t.Context(), "UPDATE approvals SET state = 'expired', settled_at = 1"); err != nil {
			t.Fatal(err)
		}
		if pending, err = db.Cases(t.Context(), false, 10); err != nil || len(pending) != 0 {
			t.Errorf("pending: %+v, %v", pending, err)
		}
		if all, err := db.Cases(t.Context(), true, 10); err != nil || len(all) != 1 {
			t.Errorf("all: %+v, %v", all, err)
		}
	})
}
