package app_test

import (
	"strings"
	"testing"
	"time"

	"countersign/agent"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/tools"
)

// factors are the second proofs as they stand in the database, and the tries of each.
func (s *stage) factors() (secrets map[string]string, tries map[string]int) {
	s.t.Helper()
	secrets, tries = map[string]string{}, map[string]int{}
	rows, err := s.Newest().Store().Writer().QueryContext(s.t.Context(), "SELECT user_id, secret, tries FROM factors")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var who, secret string
		var n int
		if err := rows.Scan(&who, &secret, &n); err != nil {
			s.t.Fatal(err)
		}
		secrets[who], tries[who] = secret, n
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return secrets, tries
}

// writes changes the database behind everybody's back.
func (s *stage) writes(statement string) {
	s.t.Helper()
	if _, err := s.Newest().Store().Writer().ExecContext(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

// Who reads the database learns no secret of one-time codes, and who writes to it
// cannot bring in one of their own: neither in plain text nor another person's.
func TestSecretsOfCodesAreSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		count := &apptest.Counter{Name: "wipe", Risk: tools.High}
		o.Extra, o.Approvals = []tools.Tool{count}, "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", sweep: 200ms}"
		o.Model = apptest.Play(apptest.Calls("wipe", `{"thought":"asked","what":"x"}`), apptest.Says("It is gone."))
		s := start(t, o)
		s.enrolls(s.mgr)
		s.enrolls(s.fin)
		ask := s.asks("wipe x")
		card := s.card(ask)
		secrets, _ := s.factors()
		for who, secret := range secrets {
			if !strings.HasPrefix(secret, "v1.") || strings.Contains(secret, codeSecret) {
				t.Errorf("the secret of %s stands as %s", who, secret)
			}
		}
		for what, put := range map[string]string{"in plain text": codeSecret, "another person's": secrets[s.mgr.ID]} {
			s.writes("UPDATE factors SET secret = '" + put + "' WHERE user_id = '" + s.fin.ID + "'")
			if errs := s.proves(s.fin, card, code(t, 0)); !strings.Contains(errs["code"], "cannot be checked") {
				t.Errorf("%s: %v", what, errs)
			}
		}
		if _, tries := s.factors(); tries[s.fin.ID] != 0 {
			t.Errorf("%d tries are counted that nobody could win", tries[s.fin.ID])
		}
		if errs := s.proves(s.mgr, card, code(t, 0)); len(errs) > 0 {
			t.Fatalf("the right code was refused: %v", errs)
		}
		s.answered(ask, "It is gone.")
		if s.waits(agent.Success); count.Count() != 1 {
			t.Errorf("%d calls", count.Count())
		}
	})
}

// A secret of before the sealing, and one under a key of before, are sealed by an
// operator with the present key; codes go on.
func TestSecretsOfCodesAreSealedAnew(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		o.Approvals = "approvals: {approvers: [manager, finance], step_up: totp, totp_key: \"${CODES_KEY}\", sweep: 200ms}"
		s := start(t, o)
		s.enrolls(s.mgr)
		s.enrolls(s.fin)
		s.writes("UPDATE factors SET secret = '" + codeSecret + "' WHERE user_id = '" + s.fin.ID + "'")
		keys := func(key string, old ...string) *config.Config {
			c := *s.Config()
			c.Approvals.TOTPKey = config.NewSecret(key)
			for _, k := range old {
				c.Approvals.TOTPOldKeys = append(c.Approvals.TOTPOldKeys, config.NewSecret(k))
			}
			return &c
		}
		look := func(c *config.Config, seal bool, sealed, plain, lost int) {
			t.Helper()
			s.operates(c, func(o *app.Operator) (err error) {
				var got app.Codes
				if seal {
					got, err = app.SealCodes(t.Context(), o.Store, c, audit.Entry{At: time.Now(), Via: "cli, somebody@somewhere"})
				} else {
					got, err = app.ReadCodes(t.Context(), o.Store, c)
				}
				if len(got.Sealed) != sealed || len(got.Plain) != plain || len(got.Lost) != lost {
					t.Errorf("%+v, wanted %d sealed, %d plain, %d lost", got, sealed, plain, lost)
				}
				return err
			})
		}
		look(keys(""), true, 0, 1, 1)
		look(keys(apptest.CodesKey), false, 0, 1, 0)
		look(keys(apptest.CodesKey), true, 1, 0, 0)
		look(keys(apptest.CodesKeyBefore), false, 0, 0, 2)
		look(keys(apptest.CodesKeyBefore, apptest.CodesKey), true, 2, 0, 0)
		look(keys(apptest.CodesKeyBefore), false, 0, 0, 0)
		look(keys(apptest.CodesKey, apptest.CodesKeyBefore), true, 2, 0, 0)
		card := s.card(s.asks("删除文档 doc_42"))
		if errs := s.proves(s.fin, card, code(t, 0)); len(errs) > 0 {
			t.Errorf("after three sealings the code is refused: %v", errs)
		}
		if err := s.Newest().Store().VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
