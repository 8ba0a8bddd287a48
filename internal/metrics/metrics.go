// Package metrics counts what operators watch, in a registry of its own. What
// happens is told to a Set as it happens; what is a state is asked for at every
// scrape. Labels come from closed sets alone: no ids, no words of people, and no
// name that a model made up.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"countersign/agent/llm"
)

// Set is every metric of one process. It is safe for use by several goroutines.
type Set struct {
	registry *prometheus.Registry

	started, ended, decided, refused, delivered, limited *prometheus.CounterVec
	calls, tokens, cost                                  *prometheus.CounterVec
	fenced                                               prometheus.Counter
	pickup, step, wait, thinking                         *prometheus.HistogramVec
	active                                               prometheus.Histogram

	mu    sync.Mutex
	model reachable
}

// reachable is what is known of the model from its calls.
type reachable struct {
	failing time.Time // since when every call has failed to reach it; zero: the last one did not
	last    time.Time // the last such failure
}

// Buckets in seconds: what a machine takes, and what people take.
var (
	quick = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
	slow  = []float64{10, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400}
)

// New makes a Set with every metric at zero.
func New() *Set {
	s := &Set{registry: prometheus.NewRegistry()}
	s.started = s.counter("runs_started_total", "Runs that began, by where they came from.", "origin")
	s.ended = s.counter("runs_ended_total", "Runs that ended, by outcome and by what halted them.", "outcome", "halt")
	s.decided = s.counter("decisions_total", "Decisions that counted.", "verdict", "via")
	s.refused = s.counter("decisions_refused_total", "Clicks and commands that did not count, by reason.", "reason")
	s.delivered = s.counter("deliveries_total", "Messages for Slack, by kind and by what came of the attempt.", "kind", "outcome")
	s.limited = s.counter("slack_limits_total", "Times Slack asked for patience, by method.", "method")
	s.calls = s.counter("model_calls_total", "Calls of the model, by outcome.", "model", "outcome")
	s.tokens = s.counter("model_tokens_total", "Tokens used. Cached ones are part of prompt.", "model", "kind")
	s.cost = s.counter("model_cost_total", "Money spent on the model, at the configured price.", "model", "currency")
	s.pickup = s.histogram("run_pickup_seconds", "Time from a run being due to its work beginning: a start, or a resume after people.", quick, "kind")
	s.step = s.histogram("step_seconds", "Time that a tool took, by what came of it.", quick, "tool", "state")
	s.wait = s.histogram("approval_wait_seconds", "Time from an approval being opened to its end.", slow, "state")
	s.thinking = s.histogram("model_call_seconds", "Time of one call of the model.", quick, "model")
	s.fenced = prometheus.NewCounter(options("leases_lost_total", "Leases that ended or went to another worker while a run was worked on."))
	s.active = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "run_active_seconds", Help: "Working time of runs that ended; waiting for people does not count.", Buckets: quick,
	})
	s.registry.MustRegister(s.fenced, s.active, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

const namespace = "countersign"

func options(name, help string) prometheus.CounterOpts {
	return prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}
}

func (s *Set) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(options(name, help), labels)
	s.registry.MustRegister(c)
	return c
}

func (s *Set) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	s.registry.MustRegister(h)
	return h
}

// Handler serves the metrics in the Prometheus formats.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// RunStarted counts a run.
func (s *Set) RunStarted(origin string) { s.started.WithLabelValues(origin).Inc() }

// RunEnded counts the end of a run.
func (s *Set) RunEnded(outcome, halt string, active time.Duration) {
	s.ended.WithLabelValues(outcome, halt).Inc()
	s.active.Observe(active.Seconds())
}

// PickedUp is how long a run that was due waited for a worker.
func (s *Set) PickedUp(resumed bool, wait time.Duration) {
	kind := "start"
	if resumed {
		kind = "resume"
	}
	s.pickup.WithLabelValues(kind).Observe(max(wait, 0).Seconds())
}

// StepEnded is one call of a tool that there is.
func (s *Set) StepEnded(tool, state string, took time.Duration) {
	s.step.WithLabelValues(tool, state).Observe(took.Seconds())
}

// Decided counts a decision.
func (s *Set) Decided(verdict, via string) { s.decided.WithLabelValues(verdict, via).Inc() }

// Refused counts a decision that did not count.
func (s *Set) Refused(reason string) { s.refused.WithLabelValues(reason).Inc() }

// Settled is how long an approval waited for its end.
func (s *Set) Settled(state string, wait time.Duration) {
	s.wait.WithLabelValues(state).Observe(wait.Seconds())
}

// Delivered counts an attempt to bring one message up to date.
func (s *Set) Delivered(kind, outcome string) { s.delivered.WithLabelValues(kind, outcome).Inc() }

// Limited counts a limit of Slack.
func (s *Set) Limited(method string) { s.limited.WithLabelValues(method).Inc() }

// LeaseLost counts a lost lease.
func (s *Set) LeaseLost() { s.fenced.Inc() }

// Called is one call of the model.
type Called struct {
	Model    string
	Currency string
	Usage    llm.Usage
	Cost     int64    // millionths of the currency
	Failure  llm.Kind // "": none
	Shrunk   bool     // it was answered, but the provider seems to have read a part of the request only
	Took     time.Duration
	At       time.Time
}

// outcomeShrunk is the outcome of a call that was answered after a part of it only was read.
const outcomeShrunk = "shrunk"

// ModelCalled counts a call of the model.
func (s *Set) ModelCalled(c Called) {
	outcome := "ok"
	switch {
	case c.Failure != "":
		outcome = string(c.Failure)
	case c.Shrunk:
		outcome = outcomeShrunk
	}
	s.calls.WithLabelValues(c.Model, outcomeShrunk).Add(0) // an alert looks for its first
	s.calls.WithLabelValues(c.Model, outcome).Inc()
	s.thinking.WithLabelValues(c.Model).Observe(c.Took.Seconds())
	for kind, n := range map[string]int{"prompt": c.Usage.Prompt, "completion": c.Usage.Completion, "cached": c.Usage.Cached} {
		s.tokens.WithLabelValues(c.Model, kind).Add(float64(n))
	}
	s.cost.WithLabelValues(c.Model, c.Currency).Add(float64(c.Cost) / 1e6)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Failure {
	case llm.Overloaded, llm.Quota, llm.Config:
		s.model.last = c.At
		if s.model.failing.IsZero() {
			s.model.failing = c.At
		}
	default:
		s.model = reachable{}
	}
}

// stale is after how long a failure of the model says nothing any more: nobody
// asked since.
const stale = 10 * time.Minute

// ModelFailing is since when no call has reached the model; zero: the last one did,
// or nobody has asked for a while.
func (s *Set) ModelFailing(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.model.last) > stale {
		return time.Time{}
	}
	return s.model.failing
}
