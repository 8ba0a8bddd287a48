package app

import (
	"context"
	"os"
	"time"

	"countersign/agent"
	"countersign/agent/llm"
	"countersign/agent/llm/openai"
	"countersign/agent/prompts"
	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/bot/slacktext"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/internal/queue"
)

func (a *edition) wireAgent(_ context.Context) (err error) {
	if a.masker, err = slacktext.NewMasker(a.cfg.Redact); err != nil {
		return fault.Wrap(err, fault.Invalid, "redact: %s.", err)
	}
	if a.prompts, err = prompts.New(); err != nil {
		return err
	}
	a.gate = &agent.Gate{Tools: a.registry, Policy: a.currentPolicy, Prompts: a.prompts, Timeout: a.cfg.Limits.ToolTimeout, Trials: agent.NewTrials(a.now)}
	a.people = bot.NewDirectory(a.slack.edge.API, a.slack.self, a.gate.Policy, a.now)
	a.everybody = a.wireDirectory(a.people)
	house, err := a.house()
	if err != nil {
		return err
	}
	var grants agent.Grants
	if a.cfg.Approvals.Grants != nil {
		grants = a.ports
	}
	a.agent, err = agent.New(agent.Config{
		Store: a.ports, Grants: grants, Model: a.counted(a.model(), a.cfg.Model.Name), Small: a.counted(a.small(), a.cfg.Model.Small), Window: a.cfg.Model.Window, Gate: a.gate, Directory: a.everybody,
		History: &bot.History{API: a.slack.edge.API, Self: a.slack.self, Directory: a.people},
		Prompts: a.prompts, Now: a.now, Logger: a.log, Owner: a.owner, Lease: a.lease(), Limits: limitsOf(a.cfg),
		OutputChars: a.cfg.Limits.ToolOutputChars, Name: a.slack.self.Name, House: house, Cards: string(a.cfg.Slack.ApprovalsChannel),
		OpenPerRun: a.cfg.Limits.OpenApprovals.PerRun, OpenPerAsker: a.cfg.Limits.OpenApprovals.PerAsker, Notify: a.cfg.Approvals.Notify == "dm", Price: priceOf(a.cfg.Model.Price), Ledger: a.store, Day: dayOf(a.cfg), Mask: a.mask, Stopping: a.stopping, Tracer: a.tracer(),
	})
	if err != nil {
		return err
	}
	box, err := boxOf(a.cfg)
	if err != nil {
		return err
	}
	a.door = decisions.New(decisions.Config{
		Store: a.ports, Care: a.ports, Factors: a.ports, Box: box, Reviews: a.ports, Grants: a.ports, Bounds: grantsOf(a.cfg), Notify: a.cfg.Approvals.Notify == "dm", Remind: a.cfg.Approvals.Remind, Escalate: escalateAfter(a.cfg), Directory: a.everybody, Clock: a.queue.Clock, Gate: a.gate, Prompts: a.prompts, Now: a.now, Logger: a.log,
		Cards: string(a.cfg.Slack.ApprovalsChannel), Lease: a.lease(), PerMinute: a.cfg.Approvals.ResumePerMinute, Mask: a.mask,
	})
	return nil
}

func (g *ground) lease() time.Duration {
	if g.opt.Lease > 0 {
		return g.opt.Lease
	}
	return queue.DefaultLease
}

// stopping says that runs should be given back: the process ends, or another edition
// took over.
func (a *edition) stopping() bool {
	select {
	case <-a.queue.Stopping():
		return true
	case <-a.retired:
		return true
	default:
		return false
	}
}

func (a *edition) mask(s string) string {
	masked, _ := a.masker.Mask(s)
	return masked
}

// house reads the house rules that every prompt carries.
func (a *edition) house() (string, error) {
	path := a.cfg.Model.Instructions
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "model.instructions: the file %s cannot be read.", path)
	}
	return string(text), nil
}

func (a *edition) model() llm.Model {
	if a.opt.Model != nil {
		return a.opt.Model
	}
	return a.served(a.cfg.Model.Name)
}

// served is a model of the configured server.
func (a *edition) served(name string) llm.Model {
	m := a.cfg.Model
	return openai.New(openai.Config{
		BaseURL: m.BaseURL, Key: m.Key.Reveal(), Model: name, API: openai.API(m.API), Timeout: m.Timeout,
		Window: m.Window, Stream: m.Stream, Strict: m.Strict, MaxWait: modelWait, Logger: a.log,
	})
}

// small is the model for summaries, where one is named. Without it long outputs are
// shown in part: the same model would be asked once more for every one of them.
func (a *edition) small() llm.Model {
	small := a.cfg.Model.Small
	if small == "" || a.opt.Model != nil {
		return nil
	}
	return a.served(small)
}

// modelWait is how long a worker sleeps for a provider that asks for patience; beyond
// it the run is given back and due again later.
const modelWait = 5 * time.Second

func limitsOf(c *config.Config) agent.Limits {
	l := c.Limits
	return agent.Limits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxActive: l.MaxActiveTime, MaxCost: micro(l.MaxCost),
		SelfHeal: l.SelfHeal, Window: l.LoopWindow, InputTTL: l.InputTTL,
	}
}

func priceOf(p config.Price) agent.Price {
	return agent.Price{Input: micro(p.InputPerMillion), Output: micro(p.OutputPerMillion)}
}

// micro turns an amount of money into millionths.
func micro(amount float64) int64 { return int64(amount * 1e6) }

func dayOf(c *config.Config) agent.Day {
	amount := func(a config.Allowance) agent.Amount {
		return agent.Amount{Tokens: int64(a.Tokens), Cost: micro(a.Cost)}
	}
	d := c.Limits.PerDay
	return agent.Day{User: amount(d.User), Channel: amount(d.Channel), All: amount(d.All)}
}
