package app

import (
	"context"
	"errors"
	"fmt"

	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/internal/seal"
	"countersign/internal/store"
)

// boxOf opens and seals the secrets of one-time codes.
func boxOf(c *config.Config) (seal.Box, error) {
	var keys [][]byte
	for _, s := range append([]config.Secret{c.Approvals.TOTPKey}, c.Approvals.TOTPOldKeys...) {
		if s.IsZero() {
			continue
		}
		k, err := s.Key()
		if err != nil {
			return seal.Box{}, fault.Wrap(err, fault.Invalid, "approvals.totp_key, or one of approvals.totp_old_keys, %s.", err)
		}
		keys = append(keys, k)
	}
	return seal.New(keys...)
}

// Enroll gives a person a second proof, sealed in the database.
func (o *Operator) Enroll(ctx context.Context, who policy.Actor, secret string, e audit.Entry) error {
	box, err := boxOf(o.app.cfg)
	if err != nil {
		return err
	}
	sealed, err := decisions.SealSecret(box, who, secret)
	if errors.Is(err, seal.ErrNoKey) {
		return fault.Wrap(err, fault.Invalid, "Secrets of one-time codes need a key: make one with `openssl rand -base64 32` and set approvals.totp_key.")
	}
	if err != nil {
		return err
	}
	return o.Store.Enroll(ctx, who, sealed, e)
}

// Codes says how the secrets of one-time codes stand in the database, by person.
type Codes struct {
	Sealed []policy.Actor // made anew by SealCodes
	Plain  []policy.Actor // were never sealed
	Lost   []policy.Actor // cannot be opened with the keys that there are
}

// ReadCodes looks at every secret and changes none.
func ReadCodes(ctx context.Context, s *store.Store, cfg *config.Config) (Codes, error) {
	return eachCode(ctx, s, cfg, func(seal.Box, store.Factor, string) (bool, error) { return false, nil })
}

// SealCodes seals with the present key what is plain or was sealed with a key of
// before. It is an operator's act and never done by itself: who can write to the
// database could otherwise have a secret of their own sealed.
func SealCodes(ctx context.Context, s *store.Store, cfg *config.Config, by audit.Entry) (Codes, error) {
	return eachCode(ctx, s, cfg, func(b seal.Box, f store.Factor, secret string) (bool, error) {
		sealed, err := decisions.SealSecret(b, f.Who, secret)
		if errors.Is(err, seal.ErrNoKey) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		e := by
		e.Kind, e.Team, e.User, e.Data = "person.sealed", f.Who.Team, f.Who.User, fmt.Sprintf(`{"plain":%t}`, secret == f.Secret)
		return s.Reseal(ctx, f, sealed, e)
	})
}

// eachCode looks at every secret; renew gets those that the present key did not seal.
func eachCode(ctx context.Context, s *store.Store, cfg *config.Config, renew func(seal.Box, store.Factor, string) (bool, error)) (Codes, error) {
	box, err := boxOf(cfg)
	if err != nil {
		return Codes{}, err
	}
	all, err := s.Factors(ctx)
	if err != nil {
		return Codes{}, err
	}
	var out Codes
	for _, f := range all {
		if err := out.look(box, f, renew); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (c *Codes) look(box seal.Box, f store.Factor, renew func(seal.Box, store.Factor, string) (bool, error)) error {
	secret, err := decisions.OpenSecret(box, f.Who, f.Secret)
	plain := errors.Is(err, seal.ErrPlain)
	switch {
	case plain:
		secret = f.Secret
	case err != nil:
		c.Lost = append(c.Lost, f.Who)
		return nil
	case box.Current(f.Secret):
		return nil
	}
	done, err := renew(box, f, secret)
	switch {
	case err != nil:
		return err
	case done:
		c.Sealed = append(c.Sealed, f.Who)
	case plain:
		c.Plain = append(c.Plain, f.Who)
	}
	return nil
}

// Examined is the database as the doctor looks at it.
type Examined struct {
	*store.Store
	cfg *config.Config
}

// Examine opens the configured database, which must be there.
func Examine(ctx context.Context, cfg *config.Config, opt Options) (*Examined, error) {
	s, err := OpenExisting(ctx, store.Config{URL: cfg.Database.URL.Reveal(), Now: opt.Now, Logger: opt.Logger})
	if err != nil {
		return nil, err
	}
	return &Examined{s, cfg}, nil
}

// Codes names the people whose codes cannot be checked.
func (x *Examined) Codes(ctx context.Context) (plain, lost []string, err error) {
	codes, err := ReadCodes(ctx, x.Store, x.cfg)
	for _, p := range codes.Plain {
		plain = append(plain, p.User)
	}
	for _, p := range codes.Lost {
		lost = append(lost, p.User)
	}
	return plain, lost, err
}
