package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

const codeSecret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

// code is a person's one-time code now, or some steps away from now.
func code(t *testing.T, steps int) string {
	t.Helper()
	c, err := totp.GenerateCode(codeSecret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *stage) enrolls(who slacktest.Person) {
	s.t.Helper()
	s.operates(s.Config(), func(o *app.Operator) error {
		return o.Enroll(s.t.Context(), policy.Actor{Team: "T0LOCAL", User: who.ID}, codeSecret, audit.Entry{Kind: "person.enrolled", Via: "cli", Data: "{}"})
	})
}

// operates does what a command does beside the process that serves.
func (s *stage) operates(c *config.Config, do func(o *app.Operator) error) {
	s.t.Helper()
	o, err := app.NewOperator(s.t.Context(), c, app.Options{})
	if err == nil {
		err = errors.Join(do(o), o.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// proves opens everything of a card and submits it with a code.
func (s *stage) proves(who slacktest.Person, card slacktest.Message, code string) map[string]string {
	s.t.Helper()
	s.pressesWhenThere(who, card, "approval_show")
	form := s.Slack.ExpectModal(who, "authenticator")
	form.Fill("code", code)
	errs := form.Submit().Errors
	if len(errs) > 0 {
		form.Close() // the next one must not be mistaken for this one
	}
	s.Slack.ExpectNoModal(who)
	return errs
}

// Where a second proof is needed, Approve takes a code of the person's, each once;
// the code is kept nowhere.
func TestStepUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Approvals = []tools.Tool{count}, "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", quorum: 2, sweep: 200ms}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("It is gone."))
		s := start(t, o)
		s.enrolls(s.mgr)
		s.enrolls(s.fin)
		ask := s.asks("wipe x")
		card := s.card(ask, slacktest.Button("approval_show"), slacktest.NoButton("approval_approve"))
		if errs := s.proves(s.mgr, card, "000000"); errs["code"] == "" {
			t.Fatalf("a wrong code was taken: %v", errs)
		}
		used := code(t, 0)
		if errs := s.proves(s.mgr, card, used); len(errs) > 0 {
			t.Fatalf("the right code was refused: %v", errs)
		}
		s.Slack.ExpectUpdate(card, slacktest.Text("1 of 2"))
		if errs := s.proves(s.mgr, card, used); errs["code"] == "" {
			t.Fatal("a code counted twice")
		}
		if errs := s.proves(s.fin, card, code(t, 0)); len(errs) > 0 {
			t.Fatalf("the other person's code was refused: %v", errs)
		}
		s.answered(ask, "It is gone.")
		w := s.waits(agent.Success)
		if count.Count() != 1 || w.Approvals[0].Decisions[0].Via != "slack, with a code" {
			t.Errorf("%d calls, via %q", count.Count(), w.Approvals[0].Decisions[0].Via)
		}
	})
}

// Five wrong codes in a row lock the person, and what they approved before is void.
func TestWrongCodesLock(t *testing.T) {
	t.Parallel()
	s := start(t, apptest.Options{Approvals: "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", quorum: 2, sweep: 200ms}"})
	s.enrolls(s.mgr)
	ask := s.asks("删除文档 doc_42")
	card := s.card(ask, slacktest.Button("approval_show"))
	if errs := s.proves(s.mgr, card, code(t, 0)); len(errs) > 0 {
		t.Fatal(errs)
	}
	s.Slack.ExpectUpdate(card, slacktest.Text("已有 1 人"))
	for range 4 {
		if errs := s.proves(s.mgr, card, code(t, -100)); errs["code"] == "" {
			t.Fatal("a wrong code was taken")
		}
	}
	s.proves(s.mgr, card, code(t, -100))
	s.Slack.ExpectUpdate(card, slacktest.Text("已有 0 人"))
	s.direct(s.mgr, slacktest.MetaHas("subject", "/locked"))
	if errs := s.proves(s.mgr, card, code(t, 1)); errs["code"] == "" {
		t.Error("a locked person's code was taken")
	}
	if w := s.whole(); w.Approvals[0].State != approvals.Pending || w.Approvals[0].Approvals() != 0 {
		t.Errorf("%+v", w.Approvals[0])
	}
	if err := s.Newest().Store().VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	// Somebody without a second proof is told how to get one.
	if errs := s.proves(s.fin, card, "123456"); errs["code"] == "" {
		t.Error("a person without a second proof was let in")
	}
}
