package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/bot/slacktext"
	"countersign/bot/survey"
	"countersign/internal/app"
	"countersign/internal/fault"
)

type idsCmd struct {
	Text string `arg:"" help:"A part of the name; - for everything."`
}

// Run prints what is called so, ready to be pasted below users, channels or usergroups.
func (c *idsCmd) Run(e *env) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if cfg.Slack.BotToken.IsZero() {
		return fault.New(fault.Invalid, "SLACK_BOT_TOKEN (xoxb-…) is needed to look ids up.")
	}
	f := finder{survey: app.Survey(cfg, e.now), part: strings.ToLower(strings.TrimLeft(c.Text, "@#"))}
	if c.Text == "-" {
		f.part = ""
	}
	token, err := f.survey.Token(e.ctx)
	if err != nil {
		return slackFault(err)
	}
	for _, find := range []func(*env, survey.Token) error{f.people, f.channels, f.groups} {
		if err := find(e, token); err != nil {
			return slackFault(err)
		}
	}
	if f.found == 0 {
		return fault.New(fault.NotFound, "Nobody and nothing in %s is called %q. Private channels are found only where the bot was invited.", slacktext.Draw(token.Team), c.Text)
	}
	return nil
}

// finder looks for names that hold a part.
type finder struct {
	survey *survey.Survey
	part   string
	found  int
}

func (f *finder) matches(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), f.part) })
}

// section prints the ids of one kind below a heading. A name is a comment, and
// cannot be anything else.
func (f *finder) section(e *env, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	f.found += len(lines)
	slices.Sort(lines)
	fmt.Fprintf(e.out, "# %s\n", heading)
	for _, l := range lines {
		fmt.Fprintln(e.out, l)
	}
}

func entry(id string, about ...string) string {
	var words []string
	for _, w := range about {
		if w != "" {
			words = append(words, strings.ReplaceAll(slacktext.Draw(w), "\n", " "))
		}
	}
	return fmt.Sprintf("- %s # %s", id, strings.Join(words, ", "))
}

func (f *finder) people(e *env, t survey.Token) error {
	var lines []string
	err := f.survey.Accounts(e.ctx, t.Self.Team, func(a survey.Account) {
		if f.matches(a.Name, a.Real, a.Handle, a.ID) {
			lines = append(lines, entry(a.ID, a.Name, realName(a), handle(a), standing(a)))
		}
	})
	f.section(e, "people", lines)
	return err
}

func realName(a survey.Account) string {
	if strings.EqualFold(a.Real, a.Name) {
		return ""
	}
	return a.Real
}

func handle(a survey.Account) string {
	if a.Handle == "" || a.Handle == a.Name {
		return ""
	}
	return "@" + a.Handle
}

// standing says why somebody can neither ask nor approve; empty for members.
func standing(a survey.Account) string {
	switch {
	case a.Deactivated:
		return "deactivated"
	case a.Bot:
		return "a bot"
	case a.Outsider:
		return "from another workspace"
	case a.Guest:
		return "a guest"
	}
	return ""
}

func (f *finder) channels(e *env, _ survey.Token) error {
	var lines []string
	err := f.survey.Channels(e.ctx, func(ch survey.Channel) {
		if f.matches(ch.Name, ch.ID) {
			about := ""
			if !ch.Member {
				about = "the bot is not in it"
			}
			lines = append(lines, entry(ch.ID, "#"+ch.Name, about))
		}
	})
	f.section(e, "channels", lines)
	return err
}

func (f *finder) groups(e *env, _ survey.Token) error {
	groups, err := f.survey.Usergroups(e.ctx)
	var refused *survey.Refused
	if errors.As(err, &refused) && refused.Code == "missing_scope" {
		fmt.Fprintln(e.out, "# user groups cannot be listed: add the scope usergroups:read to the app and install it again")
		return nil
	}
	var lines []string
	for _, g := range groups {
		if !f.matches(g.Name, g.Handle, g.ID) {
			continue
		}
		about := count(len(g.Members), "member")
		if g.Disabled {
			about = "switched off"
		}
		lines = append(lines, entry(g.ID, "@"+g.Handle, g.Name, about))
	}
	f.section(e, "user groups", lines)
	return err
}

// slackFault says in one sentence what Slack's refusal means.
func slackFault(err error) error {
	var r *survey.Refused
	switch {
	case errors.As(err, &r) && r.Code == "missing_scope":
		return fault.Wrap(err, fault.Invalid, "The app may not do that: add the scope %s (`countersign manifest` lists all) and install the app again.", r.Needed)
	case errors.As(err, &r):
		return fault.Wrap(err, fault.Invalid, "Slack refuses SLACK_BOT_TOKEN: %s.", r.Code)
	case errors.Is(err, survey.ErrUnreachable):
		return fault.Wrap(err, fault.Unavailable, "Slack cannot be reached. Check the network, and SLACK_API_URL if it is set.")
	}
	return err
}
