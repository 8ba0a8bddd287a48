package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals/policy"
	"countersign/internal/app"
	"countersign/internal/config"
	"countersign/internal/fault"
	"countersign/tools"
)

// supposed is a call that somebody asks about.
type supposed struct {
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	User    string          `json:"user"`
	Channel string          `json:"channel"`
	Roles   []string        `json:"roles"` // instead of looking the user's up
	Read    []string        `json:"read"`  // private sources that the run has read
}

func (e *env) explain(cfg *config.Config, text string) error {
	var s supposed
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fault.Wrap(err, fault.Invalid, `--explain takes {"tool": …, "args": {…}, "user": "U…", "channel": "C…"}, roles and read being optional: %s.`, err)
	}
	parts, err := app.NewParts(e.ctx, cfg, app.Options{Logger: e.log, Now: e.now})
	if err != nil {
		return err
	}
	err = e.ruling(cfg, parts, s)
	if closing := parts.Close(); err == nil {
		err = closing
	}
	return err
}

func (e *env) ruling(cfg *config.Config, parts *app.Parts, s supposed) error {
	tool, ok := parts.Tools.Get(s.Tool)
	if !ok {
		near := ""
		if names := parts.Tools.Near(s.Tool); len(names) > 0 {
			near = " Did you mean " + strings.Join(names, " or ") + "?"
		}
		return fault.New(fault.NotFound, "There is no tool %q with this configuration.%s", s.Tool, near)
	}
	args, err := arguments(parts.Tools.Schema(s.Tool), s.Args)
	if err != nil {
		return err
	}
	asker, how, err := e.asker(cfg, parts.Policy, s)
	if err != nil {
		return err
	}
	r := parts.Policy.Judge(policy.Question{Spec: tool.Spec(), Args: args, Asker: asker, Channel: s.Channel, Read: s.Read})
	p := &page{}
	p.line("call", s.Tool+" "+p.say(string(args)))
	p.line("asker", how)
	p.line("outcome", string(r.Outcome)+": "+outcomes[r.Outcome])
	p.line("risk", string(r.Risk))
	p.line("rule", r.Needs.Rule)
	p.line("because", p.say(r.Why))
	if r.Outcome == policy.Ask {
		p.line("needs", requirement(r.Needs))
	}
	if r.Budget != nil {
		p.line("counted", fmt.Sprintf("the lowered risk is used up after %d calls in %s", r.Budget.Count, r.Budget.Within))
	}
	_, err = fmt.Fprint(e.out, p.out.String())
	return err
}

// outcomes are what the policy may say, in words.
var outcomes = map[policy.Outcome]string{
	policy.Run:        "it runs at once",
	policy.Ask:        "it waits for a countersignature",
	policy.Deny:       "it is refused",
	policy.NotAllowed: "this person may not ask for it",
}

func arguments(schema *tools.Schema, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{}`)
	}
	parsed, err := tools.Parse(schema, string(raw))
	var f *tools.Failure
	if errors.As(err, &f) {
		return nil, fault.Wrap(err, fault.Invalid, "%s", strings.ReplaceAll(f.Message, "\n- ", "; "))
	}
	if err != nil {
		return nil, err
	}
	return parsed.Canonical, nil
}

// asker says which roles the person has who would ask: those given, else those by
// user id, and by user group where Slack can be asked.
func (e *env) asker(cfg *config.Config, p *policy.Policy, s supposed) (policy.Person, string, error) {
	who := policy.Person{Actor: policy.Actor{User: s.User}, Standing: policy.Member, Roles: s.Roles}
	for _, r := range s.Roles {
		if _, ok := p.Roles[r]; !ok {
			return who, "", fault.New(fault.NotFound, "No role is named %q.", r)
		}
	}
	how := "a member with the roles given"
	if s.Roles == nil {
		who.Roles, how = p.RolesOf(s.User, nil), "a member"
		groups := p.Usergroups()
		switch {
		case s.User == "" || len(groups) == 0:
		case cfg.Slack.BotToken.IsZero():
			how += " (without SLACK_BOT_TOKEN user groups are not looked at)"
		default:
			found, err := app.Survey(cfg, e.now).Usergroups(e.ctx)
			if err != nil {
				return who, "", fault.Wrap(err, fault.Unavailable, "The user groups of %s cannot be looked up (%s); give \"roles\" instead.", s.User, err)
			}
			var in []string
			for _, g := range found {
				if slices.Contains(groups, g.ID) && slices.Contains(g.Members, s.User) {
					in = append(in, g.ID)
				}
			}
			who.Roles = p.RolesOf(s.User, in)
		}
	}
	if len(who.Roles) == 0 {
		return who, how + ", without a role", nil
	}
	return who, how + ": " + strings.Join(who.Roles, ", "), nil
}

// requirement says in words what must be met before a call may run.
func requirement(r policy.Requirement) string {
	groups := append([][]string{r.Approvers}, r.Also...)
	words := make([]string, len(groups))
	for i, roles := range groups {
		words[i] = strings.Join(roles, " or ")
		if words[i] == "" {
			words[i] = "nobody (approvals.approvers is empty)"
		}
	}
	people := "1 person"
	if r.Quorum > 1 {
		people = fmt.Sprintf("%d different people", r.Quorum)
	}
	out := fmt.Sprintf("%s with the role %s, within %s", people, strings.Join(words, " and with "), span(r.TTL))
	if !r.SelfApproval {
		out += "; not the asker"
	}
	if r.StepUp != "" {
		out += "; with a one-time code"
	}
	if len(r.BreakGlass) > 0 {
		out += "; in an emergency one person with the role " + strings.Join(r.BreakGlass, " or ") + " alone, with a code and a reason"
	}
	if r.Confirm {
		out += "; Approve asks once more"
	}
	if r.Batch {
		out += "; with others of its turn in one press"
	}
	return out
}
