package agent

import (
	"context"
	"fmt"
	"time"

	"countersign/agent/prompts"
	"countersign/approvals/policy"
)

// begin is the first work on a run: who asks is checked, the system prompt is
// fixed for the run's whole life, and what the thread showed before is quoted. It is
// committed under the wake that was read: a request that was deleted or stopped meanwhile
// never reaches the model.
func (w *worker) begin(ctx context.Context) (done bool, err error) {
	person, err := w.a.Directory.Person(ctx, w.run.Asker, false)
	if err != nil {
		return true, w.refuseRun(ctx, "unknown_person")
	}
	if person.Standing != policy.Member && person.Standing != policy.Service {
		return true, w.refuseRun(ctx, "not_member")
	}
	w.run.System, err = w.a.Prompts.Render("system", map[string]string{
		"Name": w.a.Name, "House": w.a.House, "Asker": person.User, "Today": localDate(w.a.Now(), person.Zone),
	})
	if err != nil {
		return true, err
	}
	if err := w.fire(OnBegin); err != nil {
		return true, err
	}
	return false, w.commit(ctx, Change{System: w.run.System}, true)
}

// refuseRun ends a run that may not start. The code is a key of the message catalogue.
func (w *worker) refuseRun(ctx context.Context, code string) error {
	return w.end(ctx, ending{on: OnCancel, halt: HaltDenied, answer: "refused:" + code})
}

// history quotes what the thread showed before the request. A thread that cannot be read is no reason to fail.
func (w *worker) history(ctx context.Context) []Note {
	if w.a.History == nil || w.run.MessageTS == w.run.TS {
		return nil
	}
	messages, err := w.a.History.Before(ctx, w.run.Thread, w.run.MessageTS)
	if err != nil {
		w.log.WarnContext(ctx, "the thread's history cannot be read", "error", err)
		return nil
	}
	if len(messages) == 0 {
		return nil
	}
	lines := make([]string, len(messages))
	for i, m := range messages {
		lines[i] = prompts.Quote(m.Author, m.Name, m.Text)
	}
	text, err := w.a.Prompts.Render("history", lines)
	if err != nil {
		w.log.ErrorContext(ctx, "history", "error", err)
		return nil
	}
	return []Note{{Kind: NoteHistory, Text: text}}
}

func localDate(now time.Time, zone string) string {
	if loc, err := time.LoadLocation(zone); err == nil && zone != "" {
		now = now.In(loc)
	} else {
		now = now.UTC()
	}
	return fmt.Sprintf("%s (%s)", now.Format("2006-01-02"), now.Weekday())
}
