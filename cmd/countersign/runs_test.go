package main

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// runOf gives the one run of a world.
func (d *desk) runOf() agent.Run {
	d.t.Helper()
	runs, err := d.Newest().Store().Runs(d.t.Context(), false, 10)
	if err != nil || len(runs) != 1 {
		d.t.Fatalf("%v, %v", runs, err)
	}
	return runs[0]
}

func TestRunsAreShown(t *testing.T) {
	t.Parallel()
	d, card, _ := waiting(t, apptest.Options{})
	run := d.runOf()
	golden(t, "runs_list", d.must("runs", "list"))
	golden(t, "runs_show_waiting", d.must("runs", "show", run.ID))
	d.Press(d.Slack.User("mgr"), card, "approval_approve")
	d.Until("the end", func() bool { return d.runOf().State == agent.Success })
	if out := d.must("runs", "list"); out != "no runs\n" {
		t.Errorf("ended runs are listed: %s", out)
	}
	golden(t, "runs_list_all", d.must("runs", "list", "--all"))
	golden(t, "runs_show_ended", d.must("runs", "show", run.ID))
}

func TestRunIsExported(t *testing.T) {
	t.Parallel()
	d, _, approval := waiting(t, apptest.Options{})
	run := d.runOf()
	var x struct {
		Run struct {
			ID      string `json:"id"`
			State   string `json:"state"`
			Request string `json:"request"`
		} `json:"run"`
		Turns []struct {
			Text string `json:"text"`
		} `json:"turns"`
		Steps []struct {
			Tool     string          `json:"tool"`
			Proposed json.RawMessage `json:"proposed"`
		} `json:"steps"`
		Approvals []struct {
			ID        string `json:"id"`
			Revisions []struct {
				Args   json.RawMessage `json:"args"`
				Digest string          `json:"digest"`
			} `json:"revisions"`
		} `json:"approvals"`
		Deliveries []struct {
			Subject string `json:"subject"`
			TS      string `json:"ts"`
		} `json:"deliveries"`
		Audit []struct {
			Kind string `json:"kind"`
			Hash string `json:"hash"`
		} `json:"audit"`
	}
	if err := json.Unmarshal([]byte(d.must("runs", "export", run.ID)), &x); err != nil {
		t.Fatal(err)
	}
	if x.Run.ID != run.ID || x.Run.State != "waiting_approval" || !strings.Contains(x.Run.Request, "doc_42") || len(x.Turns) != 1 {
		t.Errorf("%+v", x)
	}
	if len(x.Steps) != 1 || x.Steps[0].Tool != "delete_document" || !strings.Contains(string(x.Steps[0].Proposed), "doc_42") {
		t.Errorf("steps: %+v", x.Steps)
	}
	if len(x.Approvals) != 1 || x.Approvals[0].ID != approval || x.Approvals[0].Revisions[0].Digest == "" {
		t.Errorf("approvals: %+v", x.Approvals)
	}
	if len(x.Audit) < 3 || x.Audit[0].Kind != "run.started" || x.Audit[0].Hash == "" || len(x.Deliveries) < 2 {
		t.Errorf("audit: %+v, deliveries: %+v", x.Audit, x.Deliveries)
	}
}

func TestRunIsStoppedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			d, card, approval := waiting(t, apptest.Options{Database: database})
			run := d.runOf()
			if out := d.must("runs", "cancel", run.ID); !strings.Contains(out, "is told to stop") {
				t.Error(out)
			}
			d.Until("the end", func() bool { return d.runOf().State == agent.Cancelled })
			d.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
			if d.File("docs/doc_42.md") == "" {
				t.Error("the document was deleted")
			}
			if out := d.must("approvals", "show", approval); !strings.Contains(out, "cancelled") {
				t.Error(out)
			}
			if out := d.must("audit", "export", "--run", run.ID); !strings.Contains(out, `"kind":"run.stop"`) || !strings.Contains(out, `"via":"cli, `) {
				t.Error(out)
			}
			d.fails("has ended", "runs", "cancel", run.ID)
			d.fails("has ended", "runs", "resume", run.ID)
		})
	}
}

func TestRunIsWoken(t *testing.T) {
	t.Parallel()
	d, _, _ := waiting(t, apptest.Options{})
	run := d.runOf()
	if out := d.must("runs", "resume", run.ID); !strings.Contains(out, "is woken") {
		t.Error(out)
	}
	d.Until("a look at the run", func() bool {
		r := d.runOf()
		return r.Wake == run.Wake+1 && r.Seen == r.Wake && r.State == agent.WaitingApproval
	})
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{})
	d := sit(t, w)
	for _, command := range []string{"show", "cancel", "resume", "export"} {
		d.fails(`There is no run "r_none".`, "runs", command, "r_none")
	}
	d.fails(`There is no approval "a_none".`, "approvals", "show", "a_none")
	if out := d.must("runs", "list"); out != "no runs\n" {
		t.Error(out)
	}
	if out := d.must("approvals", "list"); out != "no approvals\n" {
		t.Error(out)
	}
}
