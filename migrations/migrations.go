// Package migrations holds the schema of both databases as numbered SQL files:
// every number and name exists once in each folder. Numbers 1 and 2 are the
// queue's own tables, which internal/queue brings as Go migrations.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite gives the files for SQLite.
func SQLite() (fs.FS, error) { return fs.Sub(files, "sqlite") }

// Postgres gives the files for Postgres.
func Postgres() (fs.FS, error) { return fs.Sub(files, "postgres") }
