package app

import (
	"context"
	"time"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot/words"
	"countersign/internal/api"
	"countersign/internal/config"
	"countersign/internal/schedule"
)

// api is the interface for programs.
func (a *edition) api() *api.Server {
	c := api.Config{
		Tokens: a.store, Runs: a.agent, Views: a.store, Door: a.door, Directory: a.everybody, Mask: a.mask, Installation: a.slack.self.Team,
		Channel: string(a.cfg.API.Channel), Now: a.now, Logger: a.log,
	}
	if h := a.cfg.Hooks.Alertmanager; h != nil {
		c.Alertmanager = &api.Hook{Name: alertmanager, Secret: h.Token.Reveal(), Channel: string(h.Channel), Text: h.Text, Owner: a.member(h.Owner)}
	}
	return api.New(c)
}

// scheduled are the jobs of the configured schedules.
func (a *edition) scheduled() []schedule.Job {
	var out []schedule.Job
	for _, s := range a.cfg.Schedules {
		out = append(out, schedule.Job{Name: "schedule/" + s.Name, Cron: s.Cron, Run: func(ctx context.Context) error { return a.fire(ctx, s) }})
	}
	return out
}

// fire starts a scheduled run: one for every minute that the schedule names, however
// many replicas think that it is theirs.
func (a *edition) fire(ctx context.Context, s config.Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, fireTimeout)
	defer cancel()
	name := "schedule/" + s.Name
	_, err := a.agent.Begin(ctx, agent.Order{
		Key: name + "/" + agent.Minute(a.now()), Installation: a.slack.self.Team, Channel: string(s.Channel), Origin: "schedule",
		Asker: policy.Actor{Team: a.slack.self.Team, User: name}, Owner: a.member(s.Owner), Text: s.Text, Language: words.Guess(s.Text),
	})
	return err
}

// fireTimeout bounds the commit of a scheduled run.
const fireTimeout = 20 * time.Second
