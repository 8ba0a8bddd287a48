package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"countersign/internal/id"
)

// Postgres makes a database of its own on the tests' server. Without a server the
// test is skipped, or fails when one is required.
func Postgres(t *testing.T) *DB {
	t.Helper()
	if os.Getenv(databaseVariable) == "" {
		return open(t, Schema(t), NewClock(), false)
	}
	address, migrated := Database(t)
	return open(t, address, NewClock(), migrated)
}

// Database gives the address of a database of the test's own on the tests' server:
// migrated where the package calls Main, else empty. It skips as Postgres does.
func Database(t testing.TB) (address string, migrated bool) {
	t.Helper()
	admin, url := server(t)
	name, template := id.New("t", time.Now()), os.Getenv(databaseVariable)
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	statement := "CREATE DATABASE " + name
	if template != "" {
		statement += " TEMPLATE " + template
	}
	if _, err := admin.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("create database: %v", err)
	}
	url.Path = "/" + name
	return url.String(), template != ""
}

// Schema makes an empty schema and gives the address that leads into it.
func Schema(t *testing.T) string {
	t.Helper()
	admin, address := server(t)
	name := id.New("t", time.Now())
	if _, err := admin.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatalf("create schema: %v", err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP SCHEMA " + name + " CASCADE"); err != nil {
			t.Errorf("drop schema: %v", err)
		}
	})
	q := address.Query()
	q.Set("search_path", name)
	address.RawQuery = q.Encode()
	return address.String()
}

// server connects to the tests' server and gives its address.
func server(t testing.TB) (*sql.DB, *url.URL) {
	t.Helper()
	given := os.Getenv(serverVariable)
	if given == "" {
		if os.Getenv(requireVariable) == "require" {
			t.Fatalf("%s names no Postgres server and none could be started", serverVariable)
		}
		t.Skipf("%s names no Postgres server and none could be started", serverVariable)
	}
	address, err := url.Parse(given)
	if err != nil {
		t.Fatalf("%s is no address", serverVariable)
	}
	admin, err := sql.Open("pgx", given)
	if err != nil {
		t.Fatalf("postgres: %v", err)
	}
	admin.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = admin.Close() })
	return admin, address
}

// binaries finds the folder of the newest installed server.
func binaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) > 0 {
			slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("set %s or install Postgres", serverVariable)
}

// ordinary makes the folder an ordinary user's when we are root, as which the server
// refuses to run.
func ordinary(dir string) (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{}
	if os.Getuid() != 0 {
		return as, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 != nil || err2 != nil {
			continue
		}
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return as, os.Chown(dir, uid, gid)
	}
	return nil, fmt.Errorf("no ordinary user to run the server as")
}

// FreePort gives a port that nothing else takes meanwhile: below those that the system
// hands out to whoever connects, and far from the next one.
func FreePort() (int, error) {
	for range 200 {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no port is free")
}

// await waits until the server answers.
func await(address string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for range 2400 { // two minutes: a machine may be busy
		if err = db.Ping(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the server does not answer: %w", err)
}
