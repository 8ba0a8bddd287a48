package app_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"countersign/agent"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// deafLine is a way to Postgres on which the answers to some statements get lost.
type deafLine struct {
	to   string
	word atomic.Pointer[string] // which the statements' arguments hold
	left atomic.Int64           // how many of them still get no answer
}

// loses lets the answers to the next statements with a word in their arguments get lost.
func (l *deafLine) loses(n int64, word string) {
	l.left.Store(n)
	l.word.Store(&word)
}

func (l *deafLine) listen(t *testing.T) (address string) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := at.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			c, err := at.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return at.Addr().String()
}

// carry carries one connection until an end of it closes.
func (l *deafLine) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	var deaf atomic.Bool
	go func() {
		defer server.Close()
		_, _ = io.Copy(writing(func(p []byte) (int, error) {
			if word := l.word.Load(); word != nil && bytes.Contains(p, []byte(*word)) && l.left.Add(-1) >= 0 {
				deaf.Store(true)
			}
			return server.Write(p)
		}), client)
	}()
	_, _ = io.Copy(writing(func(p []byte) (int, error) {
		if deaf.Load() {
			return len(p), nil
		}
		return client.Write(p)
	}), server)
}

type writing func(p []byte) (int, error)

// Write implements io.Writer.
func (w writing) Write(p []byte) (int, error) { return w(p) }

// deafened is a world with a card that waits, behind such a line.
func deafened(t *testing.T) (s *stage, l *deafLine, wipe *apptest.Counter, ask, card slacktest.Message) {
	t.Helper()
	u, err := url.Parse(apptest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	l = &deafLine{to: u.Host}
	u.Host = l.listen(t)
	wipe = &apptest.Counter{Name: "wipe", Risk: tools.High}
	s = start(t, apptest.Options{
		Database: u.String(), Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("That is all.")),
	})
	ask = s.asks("wipe x")
	card = s.card(ask)
	s.waits(agent.WaitingApproval)
	return s, l, wipe, ask, card
}

// Whether a press whose answer got lost was stored is not known: it is taken back before
// its person is told that it was not saved. Where that cannot be known either, they are
// told just this.
func TestPressWhoseAnswerIsLostIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lost int64
		told string
	}{"once": {1, "not saved"}, "twice": {2, "not known"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l, wipe, ask, card := deafened(t)
			s.Slack.Allow(localslack.ViolationAckLate)
			l.loses(tt.lost, "approval_approve")
			if out := s.mgr.TriesToClick(card, "approval_approve"); out.Acked {
				t.Error("a press of which nobody knows was acknowledged")
			}
			s.told(s.mgr, tt.told)
			s.Until("no press that still counts", func() bool { return s.number("SELECT count(*) FROM clicks WHERE ended_at = 0") == 0 })
			if wipe.Count() != 0 {
				t.Fatal("it ran behind the back of who was told: " + tt.told)
			}
			s.rejects(card, "not today")
			s.answered(ask, "That is all.")
			if wipe.Count() != 0 {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}

// A form whose answer got lost is not saved, and the same words count when they are sent again.
func TestFormWhoseAnswerIsLostIsSentAgain(t *testing.T) {
	t.Parallel()
	s, l, wipe, ask, card := deafened(t)
	s.pressesWhenThere(s.mgr, card, "approval_reject")
	form := s.Slack.ExpectModal(s.mgr, "Why not?")
	form.Fill("reason", "the only thought")
	l.loses(1, "the only thought")
	if errs := form.Submit().Errors; len(errs) != 1 || !strings.Contains(errs["reason"], "not saved") {
		t.Fatalf("errors: %v", errs)
	}
	if n := s.number("SELECT count(*) FROM clicks WHERE ended_at = 0"); n != 0 {
		t.Errorf("%d forms still count that were not saved", n)
	}
	form.MustSubmit()
	s.answered(ask, "That is all.")
	s.mustAudit(s.waits(agent.Success), "approval.reject", "U0MGR", "the only thought")
	if wipe.Count() != 0 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}
