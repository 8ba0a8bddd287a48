package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"countersign/agent/llm"
	"countersign/approvals/policy"
	"countersign/internal/audit"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/tools"
)

// taken are the settings that a running process takes over; whatever begins otherwise
// needs a restart, and the record says so.
var taken = []string{
	"roles.", "rules[", "approvals.ttl", "approvals.approvers", "approvals.quorum", "approvals.self_approval", "approvals.edit_approves",
	"approvals.step_up", "approvals.break_glass", "approvals.escalate.to", "tools.http[", "model.name", "model.base_url", "model.api_key", "model.timeout",
	"model.window", "model.stream", "model.strict",
}

// Reloaded says what a reload changed.
type Reloaded struct {
	Taken   []config.Difference // holds from now on
	Restart []config.Difference // needs a restart
}

// Reload takes a configuration over that was read anew, secrets of files and of the
// environment included: who may do what, the rules, the declared http tools, the
// model. All of it is checked first; on an error everything stays as it was. What
// waits for people keeps the stricter of the requirement that it was opened with and
// the one that holds when it is used. The difference is recorded.
func (a *App) Reload(ctx context.Context, cfg *config.Config) (Reloaded, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	out := sortOut(config.Diff(a.running, cfg))
	if len(out.Taken)+len(out.Restart) == 0 {
		return out, nil
	}
	fresh := bare(cfg, a.opt)
	if err := fresh.guardPaths(); err != nil {
		return Reloaded{}, err
	}
	added, err := fresh.httpTools()
	if err != nil {
		return Reloaded{}, err
	}
	names := declaredNames(a.running)
	if err := fresh.preparePolicy(a.registry, names, added); err != nil {
		return Reloaded{}, err
	}
	if err := a.store.Refuse(ctx, []audit.Entry{a.reloadEntry(out)}); err != nil {
		return Reloaded{}, err // what cannot be recorded does not happen
	}
	if err := a.registry.Replace(names, added...); err != nil {
		return Reloaded{}, fault.Wrap(err, fault.Invalid, "tools.http: %s.", err)
	}
	a.policy.Store(fresh.policy.Load())
	a.switched.turn(a.counted(fresh.model(), cfg.Model.Name))
	a.running = cfg
	if err := a.door.TendGrants(ctx); err != nil { // none of them can be used: the policy's stamp is another
		a.log.WarnContext(ctx, "standing grants of the old policy are not marked yet", "error", err)
	}
	return out, nil
}

// preparePolicy makes the policy and holds it against the tools as they will be.
func (a *App) preparePolicy(now *tools.Registry, without []string, with []tools.Tool) error {
	all := slices.Clone(with)
	for _, spec := range now.Specs() {
		if t, ok := now.Get(spec.Name); ok && !slices.Contains(without, spec.Name) {
			all = append(all, t)
		}
	}
	var err error
	if a.registry, err = tools.NewRegistry(all...); err != nil {
		return fault.Wrap(err, fault.Invalid, "A tool cannot be used as it is configured: %s.", err)
	}
	return a.wirePolicy()
}

func declaredNames(c *config.Config) []string {
	var out []string
	for _, h := range c.Tools.HTTP {
		out = append(out, h.Name)
	}
	return out
}

// sortOut tells what is taken over from what is not.
func sortOut(all []config.Difference) Reloaded {
	var out Reloaded
	for _, d := range all {
		if slices.ContainsFunc(taken, func(prefix string) bool { return strings.HasPrefix(d.Key, prefix) }) {
			out.Taken = append(out.Taken, d)
		} else {
			out.Restart = append(out.Restart, d)
		}
	}
	return out
}

func (a *App) reloadEntry(r Reloaded) audit.Entry {
	data, err := json.Marshal(map[string]any{"taken": r.Taken, "restart": r.Restart})
	if err != nil { // cannot be: it is plain text
		data = []byte("{}")
	}
	return audit.Entry{At: a.now(), Kind: "config.reloaded", Via: "signal", Data: a.mask(string(data))}
}

// currentPolicy is the policy that holds now.
func (a *App) currentPolicy() *policy.Policy { return a.policy.Load() }

// switched is a model behind which another can be put between two calls.
type switched struct{ to atomic.Pointer[llm.Model] }

func (s *switched) turn(m llm.Model) { s.to.Store(&m) }

// Complete asks the model of this moment.
func (s *switched) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	return (*s.to.Load()).Complete(ctx, r)
}
