package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/fault"
)

func (e *examiner) database(ctx context.Context) {
	if e.Database == nil {
		return
	}
	db, err := e.Database(ctx)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		e.newFile()
		return
	case err != nil:
		e.broken("database", e.databaseFix(), "%s", sentence(err))
		return
	}
	defer e.closed(db)
	if e.current = e.schema(ctx, db); e.current {
		e.codes(ctx, db)
	}
	e.databaseClock(ctx, db)
}

func (e *examiner) closed(db Database) {
	if err := db.Close(); err != nil {
		e.warn("database", "Look at the database's own log.", "The database cannot be closed: %s.", err)
	}
}

func (e *examiner) sqlite() bool { return strings.HasPrefix(e.Config.Database.URL.Reveal(), "sqlite:") }

// newFile looks whether a SQLite file that is not there yet could be made.
func (e *examiner) newFile() {
	file, _, _ := strings.Cut(strings.TrimPrefix(e.Config.Database.URL.Reveal(), "sqlite:"), "?")
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		e.broken("database", "Make the folder, or name another file in DATABASE_URL (database.url).", "There is no folder %s for the database.", filepath.Dir(file))
		return
	}
	e.ok("database", "The SQLite file is not there yet; serve makes it.")
}

func (e *examiner) databaseFix() string {
	if e.sqlite() {
		return "Give this process the right to write the file and its folder, or name another one in DATABASE_URL."
	}
	return "Start the server, or correct DATABASE_URL (database.url): host, port, user, password, database, sslmode."
}

// schema looks at the schema's version; true when it is ours.
func (e *examiner) schema(ctx context.Context, db Database) bool {
	current, known, err := db.SchemaVersion(ctx)
	switch {
	case err != nil:
		e.broken("database", "Let the user in DATABASE_URL create and read tables.", "The schema's version cannot be read: %s", sentence(err))
	case current > known:
		e.broken("database", "Use the newer version of countersign.", "The database has schema %d, and this version knows %d.", current, known)
	case current < known:
		e.warn("database", "Run `countersign migrate`; `serve` does it too.", "The database has schema %d, and this version needs %d.", current, known)
	default:
		e.ok("database", "The database answers, with schema %d.", current)
		return true
	}
	return false
}

// codes looks whether the secrets of one-time codes can be read; the codes of whom they
// are do not count otherwise.
func (e *examiner) codes(ctx context.Context, db Database) {
	plain, lost, err := db.Codes(ctx)
	if err != nil {
		e.warn("database", "Look at the database's own log.", "The secrets of one-time codes cannot be looked at: %s", sentence(err))
		return
	}
	if len(plain) > 0 {
		e.broken("database", "Set approvals.totp_key and run `countersign migrate`; it seals them.",
			"The secrets of one-time codes of these people are not sealed, so their codes do not count: %s.", strings.Join(plain, ", "))
	}
	if len(lost) > 0 {
		e.broken("database", "Add the key that sealed them to approvals.totp_old_keys, or enroll these people again (`countersign approvals enroll USER_ID`).",
			"The secrets of one-time codes of these people cannot be opened with approvals.totp_key, so their codes do not count: %s.", strings.Join(lost, ", "))
	}
}

// databaseClock compares our clock with the database's. SQLite has none of its own.
func (e *examiner) databaseClock(ctx context.Context, db Database) {
	if e.sqlite() {
		return
	}
	before := e.Now()
	theirs, err := db.DatabaseNow(ctx)
	after := e.Now()
	if err != nil {
		e.warn("clock", "Look at the database's own log.", "The database's clock cannot be read: %s", sentence(err))
		return
	}
	took := after.Sub(before)
	skew := before.Add(took / 2).Sub(theirs)
	if skew.Abs()-took/2 > e.MaxSkew {
		e.broken("clock", "Let both machines keep time (NTP: systemd-timesyncd or chrony).",
			"This machine's clock is %s %s the database's; beyond %s no run is worked on.", skew.Abs().Round(100*time.Millisecond), direction(skew), e.MaxSkew)
		return
	}
	e.ok("clock", "This machine's clock agrees with the database's to within %s.", (skew.Abs() + took/2).Round(time.Millisecond))
}
