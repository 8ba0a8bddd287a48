package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/internal/fault"
)

// fixed are the settings that a process keeps until it ends: where its state is, and
// where it listens. Everything else is taken over.
var fixed = []string{"database.", "http."}

// Reloaded says what a reload changed.
type Reloaded struct {
	Taken   []config.Difference // holds from now on
	Restart []config.Difference // needs a restart
}

// Reload takes a configuration over that was read anew, secrets of files included:
// tools, rules, roles, limits, schedules, the model, Slack's tokens. All of it is
// made and checked beside what is at work; on an error that goes on as it was.
// Runs that are worked on are given back at the next good point and go on under the
// new edition. What waits for people keeps the stricter of the requirement that it was
// opened with and the one that holds when it is used. The difference is recorded.
func (a *App) Reload(ctx context.Context, cfg *config.Config) (Reloaded, error) {
	select {
	case <-a.started:
	case <-ctx.Done():
		return Reloaded{}, ctx.Err()
	}
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.ended {
		return Reloaded{}, fault.New(fault.Unavailable, "The process stops.")
	}
	out := sortOut(config.Diff(a.read, cfg))
	next, err := a.succeed(ctx, cfg, out.Taken)
	if err != nil {
		return Reloaded{}, err
	}
	if err := a.noteReload(ctx, out); err != nil { // what cannot be recorded does not happen
		return Reloaded{}, errors.Join(err, a.discard(next))
	}
	a.read = cfg
	a.hand(context.WithoutCancel(ctx), next)
	if err := next.door.TendGrants(ctx); err != nil { // none of them can be used: the policy's stamp is another
		a.log.WarnContext(ctx, "standing grants of the old policy are not marked yet", "error", err)
	}
	return out, nil
}

// succeed makes the next edition. What did not change it gets from the one at work:
// programs of MCP servers and connections live on. Documents that tools were made
// from are read again, because nobody sees from the configuration that they changed.
func (a *App) succeed(ctx context.Context, cfg *config.Config, taken []config.Difference) (*edition, error) {
	old := a.live()
	bound := *cfg
	bound.Database, bound.HTTP = a.cfg.Database, a.cfg.HTTP
	next := &edition{ground: a.ground, cfg: &bound}
	if !differs(taken, "tools.", "limits.tool_timeout") && len(cfg.Tools.OpenAPI) == 0 {
		next.hands = old.hands
	}
	if !differs(taken, "slack.bot_token", "slack.app_token", "slack.api_url") {
		next.slack = old.slack
	}
	next, err := a.prepare(ctx, next)
	if err != nil {
		return nil, err
	}
	if next.slack == old.slack {
		return next, nil
	}
	if err := a.dial(ctx, next.slack); err != nil {
		return nil, errors.Join(err, a.discard(next))
	}
	return next, nil
}

// dial brings a second line up beside the one at work: it is as good when Slack
// greeted it, and answers for the same bot.
func (a *App) dial(ctx context.Context, l *line) error {
	if now := a.live().slack.self; l.self.Team != now.Team || l.self.User != now.User {
		return fault.New(fault.Invalid, "SLACK_BOT_TOKEN is that of another app or workspace: that takes a restart, with a database of its own.")
	}
	l.retired.Store(true) // until it is taken: its failure is no end of the process
	a.connect(l)
	patience := time.NewTimer(dialPatience)
	defer patience.Stop()
	look := time.NewTicker(dialLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if !l.socket.Status().Ready() {
				continue
			}
			l.retired.Store(false)
			return nil
		case <-l.done:
			return fault.Wrap(l.err, fault.Invalid, "Slack refuses SLACK_APP_TOKEN: copy the app-level token (xapp-…) with connections:write again.")
		case <-patience.C:
		case <-ctx.Done():
		}
		return fault.New(fault.Unavailable, "Slack gave no connection with the new tokens within %s.", dialPatience)
	}
}

// How long a new line may take, and how often it is looked at.
const (
	dialPatience = 10 * time.Second
	dialLook     = 20 * time.Millisecond
)

// discard closes an edition that never took over.
func (a *App) discard(e *edition) error {
	old := a.live()
	if e.slack != old.slack && e.slack.cut != nil {
		e.slack.retired.Store(true)
		e.slack.cut()
		<-e.slack.done
	}
	return e.drop(old.hands)
}

// hand lets the next edition take over. Between the two nothing is delivered for a
// moment; what Slack sends and what is due reaches the next one from here on.
func (a *App) hand(ctx context.Context, next *edition) {
	old := a.live()
	a.policy.Store(next.law)
	a.mu.Lock()
	a.current = next
	a.mu.Unlock()
	close(old.retired)
	old.cut()
	<-old.ended
	if err := old.schedule.Stop(ctx); err != nil {
		a.log.WarnContext(ctx, "stop the jobs of the settings before", "error", err)
	}
	a.serve(next)
	a.leaving.Go(func() { a.leave(old, next) })
}

// leave waits for what an edition still does, and closes what its successor did not get.
func (a *App) leave(old, next *edition) {
	old.work.Wait()
	old.bot.Finish()
	if old.slack != next.slack {
		old.slack.retired.Store(true)
		old.slack.cut()
		<-old.slack.done
	}
	if err := old.drop(next.hands); err != nil {
		a.log.Warn("close the tools of the settings before", "error", err)
	}
}

// differs says whether one of the settings is below one of the prefixes.
func differs(all []config.Difference, prefixes ...string) bool {
	return slices.ContainsFunc(all, func(d config.Difference) bool { return below(d.Key, prefixes) })
}

func below(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// sortOut tells what is taken over from what is not.
func sortOut(all []config.Difference) Reloaded {
	var out Reloaded
	for _, d := range all {
		if below(d.Key, fixed) {
			out.Restart = append(out.Restart, d)
		} else {
			out.Taken = append(out.Taken, d)
		}
	}
	return out
}

// noteReload records what changed, if anything did.
func (a *App) noteReload(ctx context.Context, r Reloaded) error {
	if len(r.Taken)+len(r.Restart) == 0 {
		return nil
	}
	data := audit.Data(map[string]any{"taken": r.Taken, "restart": r.Restart}, a.live().mask)
	entry := audit.Entry{At: a.now(), Kind: "config.reloaded", Via: "signal", Data: data}
	return a.store.Refuse(ctx, []audit.Entry{entry})
}

// currentPolicy is the policy that holds now.
func (g *ground) currentPolicy() *policy.Policy { return g.policy.Load() }
