package main

import (
	"fmt"
	"strings"

	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/store"
)

type migrateCmd struct{}

// Run brings the database to this version's schema.
func (*migrateCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	s, err := app.OpenStore(e.ctx, store.Config{URL: cfg.Database.URL.Reveal(), Logger: e.log})
	if err != nil {
		return err
	}
	version, _, err := s.SchemaVersion(e.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "The %s database is at schema %d.\n", databaseKind(cfg), version)
	return s.Close()
}

func databaseKind(c *config.Config) string {
	if strings.HasPrefix(c.Database.URL.Reveal(), "sqlite:") {
		return "SQLite"
	}
	return "Postgres"
}
