package doctor

import (
	"context"
	"errors"
	"slices"

	"countersign/bot/survey"
)

// channels looks at every channel that the configuration names, or for any at all.
func (e *examiner) channels(ctx context.Context) {
	named := e.namedChannels()
	for _, ch := range named {
		e.channel(ctx, ch)
	}
	if len(e.Config.Slack.Channels) == 0 {
		e.anyChannel(ctx)
	}
}

// place is a channel with the setting that names it.
type place struct {
	id      string
	setting string
}

func (e *examiner) namedChannels() []place {
	var out []place
	add := func(id, setting string) {
		if id == "" || id[0] == 'D' || slices.ContainsFunc(out, func(p place) bool { return p.id == id }) {
			return
		}
		out = append(out, place{id, setting})
	}
	c := e.Config
	for _, id := range c.Slack.Channels {
		add(string(id), "slack.channels")
	}
	add(string(c.Slack.ApprovalsChannel), "slack.approvals_channel")
	for _, s := range c.Schedules {
		add(string(s.Channel), "schedules")
	}
	for _, name := range sorted(c.Roles) {
		for _, id := range c.Roles[name].Channels {
			add(string(id), "roles."+name+".channels")
		}
	}
	return out
}

func (e *examiner) channel(ctx context.Context, p place) {
	ch, err := e.Slack.Channel(ctx, p.id)
	var r *survey.Refused
	switch {
	case errors.As(err, &r) && r.Code == "missing_scope":
		e.broken("slack", reinstall, "Whether the bot is in %s (%s) cannot be seen without the scope %s.", p.id, p.setting, r.Needed)
	case errors.As(err, &r) && r.Code == "channel_not_found":
		e.broken("slack", "If it is a private channel, type /invite @"+e.token.Self.Name+" in it; else correct the id (`countersign ids NAME` finds it).",
			"The bot cannot see the channel %s (%s).", p.id, p.setting)
	case err != nil:
		e.warn("slack", "Ask again later.", "The channel %s (%s) cannot be looked at: %s.", p.id, p.setting, err)
	case ch.Archived:
		e.broken("slack", "Take it out of the configuration, or unarchive it.", "#%s (%s, %s) is archived.", ch.Name, p.id, p.setting)
	case !ch.Member:
		e.broken("slack", "Type /invite @"+e.token.Self.Name+" in #"+ch.Name+".", "The bot is not in #%s (%s, %s).", ch.Name, p.id, p.setting)
	case ch.External:
		e.warn("slack", "Use another channel, if people of other organisations should not see cards.",
			"#%s (%s, %s) is shared with another organisation, whose people see cards and answers but can neither ask nor decide.", ch.Name, p.id, p.setting)
	default:
		e.ok("slack", "The bot is in #%s (%s).", ch.Name, p.id)
	}
}

// anyChannel says whether the bot was invited anywhere.
func (e *examiner) anyChannel(ctx context.Context) {
	found, joined, err := e.Slack.Joined(ctx)
	var r *survey.Refused
	switch {
	case errors.As(err, &r) && r.Code == "missing_scope":
		e.warn("slack", reinstall, "Where the bot was invited cannot be seen without the scope %s.", r.Needed)
	case err != nil:
		e.warn("slack", "Ask again later.", "The channels cannot be listed: %s.", err)
	case !joined:
		e.broken("slack", "Type /invite @"+e.token.Self.Name+" in a channel.", "The bot is in no channel, so nobody can ask it anything.")
	default:
		e.ok("slack", "The bot is in #%s (%s), and answers wherever it is invited.", found.Name, found.ID)
	}
}
