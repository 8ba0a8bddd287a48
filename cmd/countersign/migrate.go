package main

import (
	"errors"
	"fmt"
	"strings"

	"countersign/approvals/policy"
	"countersign/internal/app"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/internal/store"
)

type migrateCmd struct {
	From string `placeholder:"sqlite:FILE" help:"Move everything of this SQLite database, which nobody may serve, into the configured Postgres database, which must be empty."`
}

// Run brings the database to this version's schema, and fills it when asked to.
func (c *migrateCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	s, err := app.OpenStore(e.ctx, store.Config{URL: cfg.Database.URL.Reveal(), Logger: e.log, Now: e.now})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if c.From != "" {
		if err := c.move(e, s); err != nil {
			return err
		}
	}
	if err := e.sealCodes(s, cfg); err != nil {
		return err
	}
	version, _, err := s.SchemaVersion(e.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "The %s database is at schema %d.\n", databaseKind(cfg), version)
	return nil
}

// sealCodes seals the secrets of one-time codes that are not under the present key.
func (e *env) sealCodes(s *store.Store, cfg *config.Config) error {
	codes, err := app.SealCodes(e.ctx, s, cfg, audit.Entry{At: e.now(), Via: via()})
	if err != nil {
		return err
	}
	for _, part := range []struct {
		who  []policy.Actor
		said string
	}{
		{codes.Sealed, "Sealed with approvals.totp_key: the secret of one-time codes of %s.\n"},
		{codes.Plain, "Not sealed, because approvals.totp_key is not set: the secret of one-time codes of %s.\n"},
		{codes.Lost, "Cannot be opened with the configured keys: the secret of one-time codes of %s.\n"},
	} {
		if len(part.who) > 0 {
			fmt.Fprintf(e.out, part.said, userIDs(part.who))
		}
	}
	return nil
}

func userIDs(people []policy.Actor) string {
	var out []string
	for _, p := range people {
		out = append(out, p.User)
	}
	return strings.Join(out, ", ")
}

// move copies the other database under its lock, so that nobody works on it meanwhile.
func (c *migrateCmd) move(e *env, to *store.Store) error {
	file, ok := strings.CutPrefix(c.From, "sqlite:")
	if !ok || to.Dialect() != store.Postgres {
		return fault.New(fault.Invalid, "--from is sqlite:FILE, and DATABASE_URL the Postgres database that takes its place.")
	}
	release, err := store.LockFile(file + ".lock")
	if errors.Is(err, store.ErrLocked) {
		return fault.Wrap(err, fault.Unavailable, "A countersign serves %s: stop it first.", file)
	}
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "The database file %s cannot be used: its folder cannot be written.", file)
	}
	defer func() { _ = release() }()
	from, err := app.OpenExisting(e.ctx, store.Config{URL: c.From, Logger: e.log, Now: e.now})
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := from.Migrate(e.ctx); err != nil {
		return err
	}
	if err := from.CheckFile(e.ctx); err != nil {
		return err
	}
	moved, err := to.MoveFrom(e.ctx, from, audit.Entry{Kind: "database.moved", Via: via(), Data: "{}"})
	if err != nil {
		return brokenChain(err)
	}
	for _, m := range moved {
		if m.Rows > 0 {
			fmt.Fprintf(e.out, "%8d  %s\n", m.Rows, m.Table)
		}
	}
	fmt.Fprintf(e.out, "Moved; the record verifies. Keep %s until you are sure, and never serve it again: what waits there waits here, too.\n", file)
	return nil
}

func databaseKind(c *config.Config) string {
	if strings.HasPrefix(c.Database.URL.Reveal(), "sqlite:") {
		return "SQLite"
	}
	return "Postgres"
}
