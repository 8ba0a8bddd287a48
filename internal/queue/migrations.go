package queue

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// River's schema is pinned, so that a newer library never changes it behind
// goose's back. Postgres cannot use an enum's value in the transaction that adds
// it, so River's version 4 ends the first migration and 6 falls into the second.
const (
	riverFirst  = 4
	riverSecond = 8
)

// Migrations gives River's tables as migrations 1 and 2.
func Migrations(postgres bool) []*goose.Migration {
	return []*goose.Migration{migration(1, postgres, riverFirst, -1), migration(2, postgres, riverSecond, riverFirst)}
}

func migration(version int64, postgres bool, up, down int) *goose.Migration {
	step := func(direction rivermigrate.Direction, target int) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			return migrate(ctx, tx, direction, &rivermigrate.MigrateOpts{TargetVersion: target}, postgres)
		}}
	}
	return goose.NewGoMigration(version, step(rivermigrate.DirectionUp, up), step(rivermigrate.DirectionDown, down))
}

func migrate(ctx context.Context, tx *sql.Tx, d rivermigrate.Direction, o *rivermigrate.MigrateOpts, postgres bool) error {
	var driver riverdriver.Driver[*sql.Tx] = riversqlite.New(nil)
	if postgres {
		driver = riverdatabasesql.New(nil)
	}
	m, err := rivermigrate.New(driver, nil)
	if err != nil {
		return fmt.Errorf("queue's migrations: %w", err)
	}
	//nolint:staticcheck // the pinned versions can all be batched, and must be one with our own migration
	if _, err := m.MigrateTx(ctx, tx, d, o); err != nil {
		return fmt.Errorf("queue's tables: %w", err)
	}
	return nil
}
