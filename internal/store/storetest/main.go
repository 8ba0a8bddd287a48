package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/id"
	"countersign/internal/store"
)

// The environment. TEST_DATABASE_URL names a Postgres server on which databases may
// be made; TEST_POSTGRES=require makes a missing server a failure instead of a skip.
// The others are set by Main for the tests of its package: migrated databases to copy.
const (
	serverVariable   = "TEST_DATABASE_URL"
	requireVariable  = "TEST_POSTGRES"
	fileVariable     = "TEST_SQLITE_TEMPLATE"
	databaseVariable = "TEST_POSTGRES_TEMPLATE"
)

// Main runs a package's tests with a Postgres server: the one that is given, or one
// of its own from installed binaries, which ends with the tests. Databases are
// migrated once and copied for every test. It gives the exit code; a package calls it
// in its TestMain.
func Main(m *testing.M) int {
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			if err := undo[i](); err != nil {
				fmt.Fprintln(os.Stderr, "after the tests:", err)
			}
		}
	}()
	for _, prepare := range []func() (func() error, error){fileTemplate, givenOrStarted, databaseTemplate} {
		end, err := prepare()
		if end != nil {
			undo = append(undo, end)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "before the tests:", err)
		}
	}
	return m.Run()
}

// fileTemplate makes the migrated SQLite file.
func fileTemplate() (func() error, error) {
	dir, err := os.MkdirTemp("", "countersign-sqlite-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	path := filepath.Join(dir, "template.db")
	if err := migrate("sqlite:" + path); err != nil {
		return remove, err
	}
	return remove, os.Setenv(fileVariable, path)
}

// givenOrStarted makes sure of a server.
func givenOrStarted() (func() error, error) {
	if os.Getenv(serverVariable) != "" {
		return nil, nil
	}
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	return s.remove, os.Setenv(serverVariable, s.Address)
}

// databaseTemplate makes the migrated Postgres database, if there is a server.
func databaseTemplate() (func() error, error) {
	given := os.Getenv(serverVariable)
	address, err := url.Parse(given)
	if err != nil || given == "" {
		return nil, err
	}
	admin, err := sql.Open("pgx", given)
	if err != nil {
		return nil, err
	}
	name := id.New("t", time.Now())
	drop := func() error {
		_, err := admin.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)")
		return errors.Join(err, admin.Close())
	}
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		return drop, err
	}
	address.Path = "/" + name
	if err := migrate(address.String()); err != nil {
		return drop, err
	}
	return drop, os.Setenv(databaseVariable, name)
}

// migrate brings an empty database up to date and leaves it.
func migrate(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, store.Config{URL: address})
	if err != nil {
		return err
	}
	return errors.Join(s.Migrate(ctx), s.Close())
}
