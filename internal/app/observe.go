package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/internal/metrics"
	"countersign/internal/queue"
)

// observed tells metrics, traces and log what was committed, by ids alone. It stands between the parts and
// the database, so that no part has to count.
type observed struct {
	Ports
	set    *metrics.Set
	tracer trace.Tracer
	log    *slog.Logger
}

// Accept counts runs that start.
func (o *observed) Accept(ctx context.Context, in agent.Incoming) (agent.Accepted, error) {
	got, err := o.Ports.Accept(ctx, in)
	if err == nil && got.Started {
		o.set.RunStarted(in.Run.Origin)
		o.log.InfoContext(ctx, "run started", "run", got.Run, "origin", in.Run.Origin, "channel", in.Run.Channel, "asker", in.Run.Asker.User)
	}
	return got, err
}

// Claim measures how long a run that was due waited for a worker.
func (o *observed) Claim(ctx context.Context, run string, lease agent.Lease, now time.Time) (*agent.Run, error) {
	r, err := o.Ports.Claim(ctx, run, lease, now)
	if err == nil && r != nil && !r.ReadyAt.IsZero() {
		o.set.PickedUp(r.Turns > 0, now.Sub(r.ReadyAt))
	}
	return r, err
}

// Commit counts what ended, and leases that turned out to be lost.
func (o *observed) Commit(ctx context.Context, f agent.Fence, c agent.Change) (int64, error) {
	wake, err := o.Ports.Commit(ctx, f, c)
	if errors.Is(err, agent.ErrFenced) {
		o.set.LeaseLost()
	}
	if err != nil {
		return wake, err
	}
	for i := range c.Steps {
		s := &c.Steps[i].Step
		if !s.StartedAt.IsZero() && s.State != agent.StepExecuting && !s.EndedAt.IsZero() {
			o.set.StepEnded(s.Tool, string(s.State), s.EndedAt.Sub(s.StartedAt))
		}
	}
	if c.Run != nil && agent.RunMachine.Terminal(c.Run.State) {
		o.set.RunEnded(string(c.Run.State), string(c.Run.Halt), c.Run.Spent.Active)
		o.log.InfoContext(ctx, "run ended", "run", f.Run, "state", c.Run.State, "halt", c.Run.Halt, "steps", c.Run.Spent.Steps, "active", c.Run.Spent.Active)
	}
	for i := range c.Open {
		a := &c.Open[i]
		o.log.InfoContext(ctx, "approval opened", "run", a.Run, "approval", a.ID, "tool", a.Tool)
	}
	return wake, nil
}

// Record counts decisions, and how long approvals waited.
func (o *observed) Record(ctx context.Context, c decisions.Change) error {
	if err := o.Ports.Record(ctx, c); err != nil {
		return err
	}
	if d := c.Decision; d != nil {
		o.set.Decided(string(d.Verdict), way(d.Via))
		o.log.InfoContext(ctx, "decided", "run", c.Run, "approval", c.Approval, "verdict", d.Verdict, "user", d.By.User, "via", d.Via, "state", c.To)
	}
	if c.Approval == "" || c.From != approvals.Pending || c.To == approvals.Pending {
		return nil
	}
	after, err := o.Case(ctx, c.Approval)
	if err != nil {
		return nil //nolint:nilerr // it is recorded; only the measurement is lost
	}
	o.set.Settled(string(c.To), c.At.Sub(after.Approval.OpenedAt))
	o.waited(ctx, &after.Approval, after.Run.Trace)
	return nil
}

// waited is the span of the people: from the card to its end, in the run's trace.
func (o *observed) waited(ctx context.Context, a *approvals.Approval, traced string) {
	_, span := o.tracer.Start(agent.InTrace(ctx, traced), "approval wait", trace.WithTimestamp(a.OpenedAt), trace.WithAttributes(
		attribute.String("gen_ai.conversation.id", a.Run), attribute.String("gen_ai.tool.name", a.Tool),
		attribute.String("countersign.approval", a.ID), attribute.Int("countersign.revision", a.Revision),
		attribute.String("countersign.verdict", string(a.State)),
	))
	span.End(trace.WithTimestamp(a.SettledAt))
}

// Refuse counts what did not count.
func (o *observed) Refuse(ctx context.Context, entries []audit.Entry) error {
	for _, e := range entries {
		var data struct {
			Why string `json:"why"`
		}
		if e.Kind == "click.refused" && json.Unmarshal([]byte(e.Data), &data) == nil {
			o.set.Refused(data.Why)
			o.log.InfoContext(ctx, "a decision did not count", "run", e.Run, "approval", e.Approval, "user", e.User, "via", e.Via, "why", data.Why)
		}
	}
	return o.Ports.Refuse(ctx, entries)
}

// Delivered counts deliveries.
func (o *observed) Delivered(ctx context.Context, d bot.Delivery, r bot.Receipt) error {
	outcome := "delivered"
	switch {
	case r.Gone:
		outcome = "gone"
	case r.Error != "":
		outcome = "failed"
	case r.Version == 0:
		outcome = "put_off"
	}
	o.set.Delivered(kindOf(d.Subject), outcome)
	return o.Ports.Delivered(ctx, d, r)
}

// Hold counts Slack's limits.
func (o *observed) Hold(ctx context.Context, method, channel string, until time.Time) error {
	o.set.Limited(method)
	return o.Ports.Hold(ctx, method, channel, until)
}

// kindOf is what a delivery shows: the word of its subject that is not an id.
func kindOf(subject string) string {
	parts := strings.Split(subject, "/")
	if len(parts) < 3 {
		return parts[0]
	}
	return parts[2]
}

// way is how a decision came in, without whose account it was.
func way(via string) string {
	word, _, _ := strings.Cut(via, ",")
	return word
}

// advance is the agent's of the edition at work, with lost leases counted.
func (a *App) advance(ctx context.Context, run string) error {
	e := a.enter()
	defer e.work.Done()
	err := e.agent.Advance(ctx, run)
	if errors.Is(context.Cause(ctx), queue.ErrLeaseLost) {
		a.metrics.LeaseLost()
	}
	return err
}

// counted counts and traces a model's calls.
type counted struct {
	llm.Model
	name   string
	price  config.Price
	set    *metrics.Set
	tracer trace.Tracer
	now    func() time.Time
}

// Complete passes on and counts.
func (c *counted) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	ctx, span := c.tracer.Start(ctx, "chat "+c.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", c.name),
	))
	defer span.End()
	began := time.Now()
	reply, err := c.Model.Complete(ctx, r)
	call := metrics.Called{
		Model: c.name, Currency: c.price.Currency, Usage: reply.Usage, Shrunk: reply.Shrunk, Took: time.Since(began), At: c.now(),
	}
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		call.Failure, call.Usage = e.Kind, e.Usage
	case err != nil && ctx.Err() != nil:
		return reply, err // we stopped waiting: it says nothing of the model
	case err != nil:
		call.Failure = llm.Overloaded
	}
	call.Cost = priceOf(c.price).Of(call.Usage)
	c.set.ModelCalled(call)
	if call.Failure != "" {
		span.SetStatus(codes.Error, string(call.Failure))
		span.SetAttributes(attribute.String("error.type", string(call.Failure)))
	}
	span.SetAttributes(
		attribute.Int("gen_ai.usage.input_tokens", call.Usage.Prompt), attribute.Int("gen_ai.usage.output_tokens", call.Usage.Completion),
	)
	return reply, err
}

// counted counts the calls of a model, if there is one.
func (a *edition) counted(m llm.Model, name string) llm.Model {
	if m == nil {
		return nil
	}
	return &counted{Model: m, name: name, price: a.cfg.Model.Price, set: a.metrics, tracer: a.tracer(), now: a.now}
}

// tracer makes spans; without a provider nobody sees them.
func (g *ground) tracer() trace.Tracer {
	if g.opt.Traces == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return g.opt.Traces.Tracer("countersign")
}
