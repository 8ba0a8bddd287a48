package localslack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// quiet is a server that nobody listens to.
func quiet(t interface{ Fatal(...any) }, dir string) *Server {
	s, err := New(Config{
		AppToken: "xapp-1", BotToken: "xoxb-1", Dir: dir,
		Now:      func() time.Time { return time.Unix(1_700_000_000, 0) }, // stands still: times must differ all the same
		People:   []Person{{ID: "U1", Name: "ana"}, {ID: "U2", Name: "ben"}},
		Channels: []Channel{{ID: "C1", Name: "ops", Members: []string{"U1", "U2", "U0BOT"}}, {ID: "C2", Name: "quiet", Members: []string{"U1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTimesAreUniqueUnderLoad(t *testing.T) {
	t.Parallel()
	s := quiet(t, "")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Say(context.Background(), Post{User: "U1", Channel: "C1", Text: "x"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := s.Workspace().Messages("C1", "")
	if len(all) != 400 {
		t.Errorf("%d messages", len(all))
	}
	for i := 1; i < len(all); i++ {
		if all[i].TS <= all[i-1].TS {
			t.Fatalf("%s follows %s", all[i].TS, all[i-1].TS)
		}
	}
}

// TestTheJournalIsTheWorkspace does anything in any order and compares what is
// held with what a new process reads back.
func TestTheJournalIsTheWorkspace(t *testing.T) {
	t.Parallel()
	dirs := t.TempDir()
	count := 0
	rapid.Check(t, func(r *rapid.T) {
		count++
		dir := fmt.Sprintf("%s/%d", dirs, count)
		s := quiet(r, dir)
		var posted []Message
		pick := func() Message {
			if len(posted) == 0 {
				r.Skip("nothing to pick")
			}
			return posted[rapid.IntRange(0, len(posted)-1).Draw(r, "message")]
		}
		user := rapid.SampledFrom([]string{"U1", "U2"})
		r.Repeat(map[string]func(*rapid.T){
			"say": func(r *rapid.T) {
				p := Post{User: user.Draw(r, "user"), Channel: rapid.SampledFrom([]string{"C1", "C2"}).Draw(r, "channel"), Text: rapid.String().Draw(r, "text")}
				if m, err := s.Say(context.Background(), p); err == nil {
					posted = append(posted, m)
				}
			},
			"edit": func(r *rapid.T) {
				m := pick()
				_, err := s.EditMessage(context.Background(), m.User, m.Channel, m.TS, rapid.String().Draw(r, "text"))
				allowed(r, err, "message_not_found")
			},
			"delete": func(r *rapid.T) {
				m := pick()
				allowed(r, s.DeleteMessage(context.Background(), user.Draw(r, "user"), m.Channel, m.TS), "message_not_found", "cant_delete_message")
			},
			"react": func(r *rapid.T) {
				m := pick()
				allowed(r, s.React(context.Background(), user.Draw(r, "user"), m.Channel, m.TS, "eyes"), "message_not_found", "already_reacted")
			},
			"move": func(r *rapid.T) {
				u := user.Draw(r, "user")
				if rapid.Bool().Draw(r, "in") {
					allowed(r, s.Join(context.Background(), u, "C2"))
				} else {
					allowed(r, s.Leave(context.Background(), u, "C2"), "not_in_channel")
				}
			},
		})
		again := quiet(r, dir)
		a, b := s.Workspace(), again.Workspace()
		for _, ch := range a.Channels("") {
			if diff := cmp.Diff(a.messages[ch.ID], b.messages[ch.ID]); diff != "" {
				r.Errorf("%s (-held +read back):\n%s", ch.ID, diff)
			}
		}
		if diff := cmp.Diff(a.Channels(""), b.Channels("")); diff != "" || a.seq != b.seq {
			r.Errorf("counter %d and %d, channels (-held +read back):\n%s", a.seq, b.seq, diff)
		}
		if err := errors.Join(s.Close(), again.Close()); err != nil {
			r.Error(err)
		}
	})
}

// allowed fails the test for an error that is none of the refusals.
func allowed(r *rapid.T, err error, codes ...string) {
	if err == nil {
		return
	}
	for _, c := range codes {
		if errors.Is(err, &Error{Code: c}) {
			return
		}
	}
	r.Errorf("refused with %v", err)
}
