package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
	"gorm.io/gorm"
)

// Errors of the database itself. What a run or an approval answers is in the
// ports' own packages.
var (
	// ErrUnavailable says that the database did not answer in time or at all: trying again may help.
	ErrUnavailable = errors.New("the database is not available")
	// ErrNewerSchema says that a newer release has migrated the database.
	ErrNewerSchema = errors.New("the database was migrated by a newer release")
	// ErrLocked says that another process serves the same SQLite file.
	ErrLocked = errors.New("the database file is in use by another process")

	errDuplicate = errors.New("there is such a row")
	errRepeat    = errors.New("the transaction lost against another and may be repeated")
)

// translate maps the drivers' errors to ours; it is the only place that knows
// their codes.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if target := kindOf(err); target != nil && !errors.Is(err, target) {
		return fmt.Errorf("%w: %w", target, err)
	}
	return err
}

func kindOf(err error) error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, gorm.ErrDuplicatedKey),
		errors.Is(err, sqlite3.CONSTRAINT_UNIQUE), errors.Is(err, sqlite3.CONSTRAINT_PRIMARYKEY):
		return errDuplicate
	case errors.As(err, &pg):
		return kindOfPostgres(pg.Code)
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR):
		return ErrUnavailable
	}
	return nil
}

// unsure says of a failed statement that writes whether Postgres may have done it all the
// same: it was sent, and no refusal of it came back.
func unsure(err error) bool {
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	if errors.As(err, &refused) {
		return refused.SeverityUnlocalized != "ERROR" // else it ended the connection, not the statement
	}
	return !errors.As(err, &connect) && !pgconn.SafeToRetry(err)
}

// kindOfPostgres reads SQLSTATE codes (Postgres manual, appendix A).
func kindOfPostgres(code string) error {
	switch {
	case code == "23505": // unique_violation
		return errDuplicate
	case code == "40001", code == "40P01": // serialization_failure, deadlock_detected
		return errRepeat
	case code[:min(2, len(code))] == "08", code[:min(2, len(code))] == "53", code[:min(2, len(code))] == "57":
		return ErrUnavailable // connection, resources, operator's intervention
	}
	return nil
}
