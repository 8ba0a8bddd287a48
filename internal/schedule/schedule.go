// Package schedule runs periodic jobs on one replica at a time: gocron keeps the
// time, a row of the database says who leads. Nothing may depend on a job running
// exactly once: two replicas can meet in the moment in which the lead changes.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-co-op/gocron/v2"
)

// Elector decides who leads. internal/store implements it.
type Elector interface {
	// Elect makes the owner the leader of a name until now + ttl, unless somebody
	// else is; it says whether the owner leads.
	Elect(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error)
	// Resign gives every lead of the owner up.
	Resign(ctx context.Context, owner string) error
}

// Config wires a Scheduler.
type Config struct {
	Elect  Elector // nil: this process always leads
	Owner  string  // unique for every start of a process
	Now    func() time.Time
	Logger *slog.Logger
}

// Job is a periodic job.
type Job struct {
	Name  string
	Every time.Duration // from start to start; a run that takes longer delays the next
	Cron  string        // instead of Every: five fields, or @hourly, @daily …, in the local time zone
	Run   func(ctx context.Context) error
}

// lead is the name under which the replicas elect. There is one lead for all jobs.
const lead = "schedule"

// Limits of the scheduler's own waiting.
const (
	electPatience = 2 * time.Second
	stopPatience  = 10 * time.Second
)

// errFollower says that another replica leads.
var errFollower = errors.New("another replica leads")

// Scheduler runs the jobs from Start to Stop.
type Scheduler struct {
	Config
	cron gocron.Scheduler
	base context.Context
	cut  context.CancelFunc
	ttl  time.Duration
}

// New makes a scheduler of the jobs. Each runs first at once, or when its cron line
// says, and never beside itself.
func New(c Config, jobs ...Job) (*Scheduler, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Scheduler{Config: c, ttl: timeToLead(jobs)}
	s.base, s.cut = context.WithCancel(context.Background())
	options := []gocron.SchedulerOption{gocron.WithStopTimeout(stopPatience), gocron.WithLogger(quiet{c.Logger})}
	if c.Elect != nil {
		options = append(options, gocron.WithDistributedElector(elector{s}))
	}
	var err error
	if s.cron, err = gocron.NewScheduler(options...); err != nil {
		return nil, fmt.Errorf("scheduler: %w", err)
	}
	for _, j := range jobs {
		if err := s.add(j); err != nil {
			return nil, errors.Join(err, s.cron.Shutdown())
		}
	}
	return s, nil
}

// timeToLead gives how long a lead holds: the most frequent job renews it, and may
// miss once.
func timeToLead(jobs []Job) time.Duration {
	shortest := time.Minute
	for _, j := range jobs {
		if j.Every > 0 {
			shortest = min(shortest, j.Every)
		}
	}
	return shortest*5/2 + electPatience
}

func (s *Scheduler) add(j Job) error {
	when, first := gocron.DurationJob(j.Every), []gocron.JobOption{gocron.WithStartAt(gocron.WithStartImmediately())}
	if j.Cron != "" {
		when, first = gocron.CronJob(j.Cron, false), nil
	}
	_, err := s.cron.NewJob(when, gocron.NewTask(func() { s.run(j) }), append(first,
		gocron.WithName(j.Name),
		gocron.WithSingletonMode(gocron.LimitModeReschedule),
	)...)
	if err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	return nil
}

// run runs a job once; what goes wrong is logged and tried again in its time.
func (s *Scheduler) run(j Job) {
	err := s.safely(j)
	if err != nil && s.base.Err() == nil {
		s.Logger.ErrorContext(s.base, "periodic job failed", "job", j.Name, "error", err)
	}
}

func (s *Scheduler) safely(j Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return j.Run(s.base)
}

// Start begins to run the jobs.
func (s *Scheduler) Start() { s.cron.Start() }

// Stop ends the context of running jobs, waits for them and gives the lead up.
func (s *Scheduler) Stop(ctx context.Context) error {
	s.cut()
	err := s.cron.Shutdown()
	if s.Elect != nil {
		err = errors.Join(err, s.Elect.Resign(ctx, s.Owner))
	}
	if err != nil {
		return fmt.Errorf("stop the scheduler: %w", err)
	}
	return nil
}

// elector is gocron's view of our election.
type elector struct{ *Scheduler }

// IsLeader gives an error when the job is another replica's.
func (e elector) IsLeader(context.Context) error {
	ctx, cancel := context.WithTimeout(e.base, electPatience)
	defer cancel()
	leads, err := e.Elect.Elect(ctx, lead, e.Owner, e.Now(), e.ttl)
	switch {
	case err != nil:
		if e.base.Err() == nil {
			e.Logger.WarnContext(ctx, "election failed", "error", err)
		}
		return err
	case !leads:
		return errFollower
	}
	return nil
}

// quiet passes gocron's errors to the log and drops its chatter; not leading is no error.
type quiet struct{ log *slog.Logger }

// Debug drops.
func (quiet) Debug(string, ...any) {}

// Info drops.
func (quiet) Info(string, ...any) {}

// Warn passes on.
func (q quiet) Warn(msg string, args ...any) {
	q.log.Warn("scheduler", "message", msg, "details", args)
}

// Error passes on, unless another replica leads.
func (q quiet) Error(msg string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, errFollower) {
			return
		}
	}
	q.log.Error("scheduler", "message", msg, "details", args)
}
