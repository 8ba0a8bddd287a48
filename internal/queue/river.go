package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// River's settings. One notification per queue is sent in a cooldown and the rest
// waits for the poll, so both are short. Failover is the lease's work; the timeout
// and the rescue only tidy up, and must be finite or jobs of dead workers stay for ever.
const (
	fetchCooldown = time.Millisecond // the least that River allows
	fetchPoll     = 250 * time.Millisecond
	jobTimeout    = 30 * time.Minute
	rescueAfter   = 35 * time.Minute
	maxAttempts   = 3
	retention     = time.Hour // of completed jobs
)

// ring is a job: it names a run and carries nothing else. Jobs are never unique: a
// unique job swallows the ring that comes while a worker is about to park the run.
type ring struct {
	Run string `json:"run"`
}

// Kind names the job.
func (ring) Kind() string { return "ring" }

// ringer answers rings.
type ringer struct {
	river.WorkerDefaults[ring]
	queue *Queue
}

// Work works on the run, if it is due. It never fails: what was not done is swept up.
func (r *ringer) Work(ctx context.Context, job *river.Job[ring]) error {
	r.queue.workOn(ctx, job.Args.Run)
	return nil
}

func (q *Queue) openRiver() error {
	driver, err := q.driver()
	if err != nil {
		return err
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &ringer{queue: q}); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.client, err = river.NewClient(driver, &river.Config{
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: q.Slots}},
		Workers:                     workers,
		FetchCooldown:               fetchCooldown,
		FetchPollInterval:           fetchPoll,
		JobTimeout:                  jobTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		SoftStopTimeout:             q.Grace,
		MaxAttempts:                 maxAttempts,
		CompletedJobRetentionPeriod: retention,
		PollOnly:                    q.Postgres == "", // on SQLite a listener is a poll too, and a busier one
		Logger:                      slog.New(quiet{q.Logger.Handler()}),
	})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// riverConns is the size of River's own pool on Postgres, so that its housekeeping
// and our transactions never wait for each other's connections.
const riverConns = 4

// driver gives River its handles: on SQLite the one that writes, on Postgres a small
// pool and one more connection that listens.
func (q *Queue) driver() (riverdriver.Driver[*sql.Tx], error) {
	if q.Postgres == "" {
		return riversqlite.New(q.DB), nil
	}
	config, err := pgxpool.ParseConfig(q.Postgres)
	if err != nil {
		return nil, errors.New("queue: the address of the database cannot be read") // the cause may hold its password
	}
	config.MinConns, config.MaxConns = 0, 1
	listener, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("queue: listener: %w", err)
	}
	pool, err := sql.Open("pgx", q.Postgres)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("queue: pool: %w", err)
	}
	pool.SetMaxOpenConns(riverConns)
	q.closeRiver = func() error {
		listener.Close()
		return pool.Close()
	}
	return riverdatabasesql.NewWithPgxListener(pool, listener), nil
}

// Ring announces a run inside the transaction that gave it work; it reaches every
// replica after the commit.
func (q *Queue) Ring(ctx context.Context, tx *sql.Tx, run string) error {
	if _, err := q.client.InsertTx(ctx, tx, ring{Run: run}, nil); err != nil {
		return fmt.Errorf("ring run %s: %w", run, err)
	}
	return nil
}

func (q *Queue) stopRiver(ctx context.Context, started bool) error {
	if !started {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, q.Grace+q.Lease)
	defer cancel()
	if err := q.client.Stop(ctx); err != nil {
		return fmt.Errorf("stop the queue: %w", err)
	}
	return nil
}

// quiet keeps River's chatter out of the log: warnings and errors pass.
type quiet struct{ slog.Handler }

// Enabled lets warnings and errors pass.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// WithAttrs keeps the handler quiet.
func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }

// WithGroup keeps the handler quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
