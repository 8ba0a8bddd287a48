package doctor_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/agent/llm"
	"countersign/bot/survey"
	"countersign/internal/config"
	"countersign/internal/doctor"
	"countersign/internal/fault"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	env := map[string]string{"SLACK_APP_TOKEN": slacktest.AppToken, "SLACK_BOT_TOKEN": slacktest.BotToken, "OPENAI_API_KEY": "test"}
	c, err := config.Parse("countersign.yaml", []byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// about gives what was found in an area, one line each.
func about(findings []doctor.Finding, area string) string {
	var lines []string
	for _, f := range findings {
		if f.Area == area {
			lines = append(lines, strings.TrimSpace(string(f.Level)+": "+f.Text+" "+f.Fix))
		}
	}
	return strings.Join(lines, "\n")
}

func TestPeople(t *testing.T) {
	t.Parallel()
	const docs = "tools: {docs: {path: ./docs}}\n"
	for name, c := range map[string]struct {
		yaml string
		cast func(*localslack.Config)
		want string // a part of what is found
		not  string // what must not be
	}{
		"two by id": {docs + "roles: {boss: {users: [U0MGR, U0FIN]}}\napprovals: {approvers: [boss]}\n", nil, "ok: 2 people can countersign (approvals.approvers: boss).", "warning"},
		"the same person twice": {docs + "roles: {boss: {users: [U0MGR]}, chief: {usergroups: [S0MGR]}}\napprovals: {approvers: [boss, chief]}\n", nil,
			"warning: Only mgr (U0MGR) may countersign", ""},
		"self-approval":      {docs + "roles: {boss: {users: [U0MGR]}}\napprovals: {approvers: [boss], self_approval: true}\n", nil, "ok: 1 person can countersign", "warning"},
		"no HIGH tool":       {"roles: {boss: {users: [U0MGR]}}\napprovals: {approvers: [boss]}\n", nil, "", "countersign"},
		"a guest":            {docs + "roles: {boss: {users: [U0MGR, U0FIN, U0GUS]}}\napprovals: {approvers: [boss]}\n", nil, "gus (U0GUS, roles.boss.users) is a guest", "broken"},
		"a bot":              {docs + "roles: {boss: {users: [U0MGR, U0FIN, U0BOT]}}\napprovals: {approvers: [boss]}\n", nil, "is a bot", "broken"},
		"nobody there":       {docs + "roles: {boss: {users: [U0NONE]}}\napprovals: {approvers: [boss]}\n", nil, "broken: There is nobody with the id U0NONE (roles.boss.users).", ""},
		"and so nobody able": {docs + "roles: {boss: {users: [U0NONE]}}\napprovals: {approvers: [boss]}\n", nil, "broken: Nobody can countersign", ""},
		"asking role empty": {docs + "roles: {boss: {users: [U0MGR, U0FIN]}, support: {usergroups: [S0FIN]}}\napprovals: {approvers: [boss]}\n", func(c *localslack.Config) {
			c.Usergroups[1].Members = nil
		}, "@finance (S0FIN, roles.support) is empty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cast := c.cast
			if cast == nil {
				cast = func(*localslack.Config) {}
			}
			ws := slacktest.New(t, cast)
			got := about(doctor.Examine(t.Context(), &doctor.Subject{Config: parse(t, c.yaml), Slack: surveyOf(ws), Now: time.Now, Brief: true}), "people")
			if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("wanted %q and not %q in\n%s", c.want, c.not, got)
			}
		})
	}
}

func surveyOf(ws *slacktest.Slack) *survey.Survey {
	return survey.New(survey.Config{
		BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, Address: ws.Server.APIURL(), Client: http.DefaultClient, Now: time.Now,
	})
}

// A person who cannot be looked up makes nothing sure, and nothing is claimed.
func TestPeopleWhoCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ws.Server.BreakAPI(localslack.APIFault{Method: "users.info", Error: "internal_error"})
	cfg := parse(t, "tools: {docs: {path: ./docs}}\nroles: {boss: {users: [U0MGR, U0FIN]}}\napprovals: {approvers: [boss]}\n")
	got := about(doctor.Examine(t.Context(), &doctor.Subject{Config: cfg, Slack: surveyOf(ws), Now: time.Now, Brief: true}), "people")
	if strings.Contains(got, "can countersign") || !strings.Contains(got, "cannot be looked up") {
		t.Error(got)
	}
}

// model is a model that says one thing.
type model struct {
	reply llm.Reply
	err   error
}

func (m model) Complete(context.Context, llm.Request) (llm.Reply, error) { return m.reply, m.err }

func TestModel(t *testing.T) {
	t.Parallel()
	call := func(name, args string) llm.Reply {
		return llm.Reply{Calls: []llm.Call{{Name: name, Arguments: args}}}
	}
	for name, c := range map[string]struct {
		model model
		want  string
	}{
		"as told":         {model{reply: call("confirm_setup", `{"word":"Ready"}`)}, "ok: The model gpt-5-mini answers and calls tools"},
		"another tool":    {model{reply: call("delete_everything", `{"word":"ready"}`)}, "warning: The model gpt-5-mini called a tool, but not as it was told."},
		"another word":    {model{reply: call("confirm_setup", `{"word":"set"}`)}, "but not as it was told"},
		"broken JSON":     {model{reply: call("confirm_setup", `{"word":`)}, "but not as it was told"},
		"words":           {model{reply: llm.Reply{Text: "ready"}}, "with words instead of the tool call"},
		"no money":        {model{err: &llm.Error{Kind: llm.Quota, Message: "No credit."}}, "No credit. Top the account up"},
		"config":          {model{err: &llm.Error{Kind: llm.Config, Message: "No such model."}}, "OPENAI_MODEL (model.name)"},
		"no API":          {model{err: &llm.Error{Kind: llm.Malformed, Message: "That is HTML."}}, "with its /v1"},
		"an unknown kind": {model{err: &llm.Error{Kind: "odd", Message: "Odd."}}, "Odd. Check OPENAI_BASE_URL"},
		"another error":   {model{err: errors.New("dial tcp")}, "broken: The model does not answer: dial tcp."},
	} {
		got := about(doctor.Examine(t.Context(), &doctor.Subject{Config: parse(t, "http: {addr: \"\"}\n"), Model: c.model, Now: time.Now}), "model")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: wanted %q in %q", name, c.want, got)
		}
	}
}

// reader is a model whose server reads so many words of a request at most.
type reader struct {
	model
	reads int
}

func (m reader) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if len(r.Tools) > 0 {
		return llm.Reply{Calls: []llm.Call{{Name: "confirm_setup", Arguments: `{"word":"ready"}`}}}, nil
	}
	words := strings.Count(r.Messages[1].Text, "one ")
	m.reply.Usage.Prompt = min(words, m.reads)
	return m.model.Complete(ctx, r)
}

// Row C25: the configured window is tried, since a server that cuts says nothing.
func TestC25TheWindowIsTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml  string
		model reader
		want  string
	}{
		"read":        {"model: {window: 8192}\n", reader{reads: 10_000}, "ok: The model's server reads long requests (6144 tokens; model.window is 8192)."},
		"cut":         {"model: {window: 8192}\n", reader{reads: 4096}, "broken: The model's server read 4096 tokens of a request of 6144 words"},
		"cut further": {"model: {window: 131072}\n", reader{reads: 4096}, "read 4096 tokens of a request of 12000 words"},
		"refused":     {"model: {window: 8192}\n", reader{model: model{err: &llm.Error{Kind: llm.Overflow, Message: "m"}}}, "broken: The model's server refuses a request of 6144 words"},
		"uncounted":   {"model: {window: 8192}\n", reader{model: model{reply: llm.Reply{Usage: llm.Usage{Estimated: true}}}, reads: 1}, "does not count tokens"},
		"too slow":    {"model: {window: 8192}\n", reader{model: model{err: &llm.Error{Kind: llm.Overloaded, Message: "m"}}}, "warning: Whether the server reads"},
		"not set":     {"model: {base_url: 'http://127.0.0.1:9/v1'}\n", reader{}, "warning: model.window is not set"},
		"OpenAI's":    {"", reader{}, "ok: The model gpt-5-mini answers"},
	} {
		got := about(doctor.Examine(t.Context(), &doctor.Subject{Config: parse(t, "http: {addr: \"\"}\n"+c.yaml), Model: c.model, Now: time.Now}), "model")
		if !strings.Contains(got, c.want) || name == "OpenAI's" && strings.Contains(got, "model.window") {
			t.Errorf("%s: wanted %q in %q", name, c.want, got)
		}
	}
}

// database is a database with a schema and a clock.
type database struct {
	plain, lost    []string
	current, known int64
	ahead          time.Duration
	err            error
}

func (d database) SchemaVersion(context.Context) (current, known int64, err error) {
	return d.current, d.known, d.err
}

func (d database) DatabaseNow(context.Context) (time.Time, error) {
	return time.Now().Add(d.ahead), d.err
}
func (d database) Close() error { return nil }

func (d database) Sightings(context.Context, string) (map[string]time.Time, error) {
	return nil, d.err
}

func (d database) Codes(context.Context) (plain, lost []string, err error) {
	return d.plain, d.lost, d.err
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	const postgres = "http: {addr: \"\"}\ndatabase: {url: \"postgres://u:pw@h/d\"}\n"
	for name, c := range map[string]struct {
		db   database
		open error
		want []string
	}{
		"fine":    {database{current: 7, known: 7}, nil, []string{"ok: The database answers, with schema 7."}},
		"codes":   {database{current: 7, known: 7, plain: []string{"U1"}, lost: []string{"U2", "U3"}}, nil, []string{"not sealed, so their codes do not count: U1. Set approvals.totp_key", "cannot be opened with approvals.totp_key, so their codes do not count: U2, U3. Add the key"}},
		"older":   {database{current: 6, known: 7}, nil, []string{"warning: The database has schema 6", "countersign migrate"}},
		"newer":   {database{current: 8, known: 7}, nil, []string{"broken: The database has schema 8", "newer version"}},
		"refused": {database{err: errors.New("permission denied")}, nil, []string{"broken: The schema's version cannot be read: permission denied.", "clock cannot be read"}},
		"down":    {database{}, fault.New(fault.Unavailable, "The database at h/d cannot be reached."), []string{"broken: The database at h/d cannot be reached. Start the server"}},
		"behind":  {database{current: 7, known: 7, ahead: time.Minute}, nil, []string{"broken: This machine's clock is 1m0s behind the database's", "NTP"}},
	} {
		open := func(context.Context) (doctor.Database, error) { return c.db, c.open }
		findings := doctor.Examine(t.Context(), &doctor.Subject{Config: parse(t, postgres), Database: open, Now: time.Now, MaxSkew: 1500 * time.Millisecond})
		got := about(findings, "database") + "\n" + about(findings, "clock")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: wanted %q in %q", name, want, got)
			}
		}
		if strings.Contains(got, "pw") {
			t.Errorf("%s: the password: %q", name, got)
		}
	}
}

// engine is a tool that says whether what it needs is there.
type engine struct{ err error }

func (engine) Spec() tools.Spec {
	return tools.Spec{Name: "run_command", Description: "Runs.", Parameters: []byte(`{"type":"object","properties":{}}`), Risk: tools.High, Effects: true}
}
func (engine) Call(context.Context, tools.Call) (tools.Result, error) {
	panic("the doctor calls nothing that has effects")
}
func (e engine) Ready(context.Context) error { return e.err }

// covered lies over a tool, as configured access does.
type covered struct{ tools.Tool }

func (c covered) Unwrap() tools.Tool { return c.Tool }

func TestTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tools []tools.Tool
		err   error
		want  string
	}{
		"none":      {nil, nil, "warning: No tool is configured."},
		"ready":     {[]tools.Tool{covered{engine{}}}, nil, "ok: run_command is ready."},
		"not ready": {[]tools.Tool{covered{engine{&tools.Failure{Code: "no_engine", Message: "No container engine answers."}}}}, nil, "broken: run_command cannot be used: No container engine answers."},
		"wrong":     {nil, fault.New(fault.Invalid, "tools.files.root: the folder x cannot be used."), "broken: tools.files.root: the folder x cannot be used."},
	} {
		registry := func(context.Context) (*tools.Registry, error) {
			if c.err != nil {
				return nil, c.err
			}
			return tools.NewRegistry(c.tools...)
		}
		got := about(doctor.Examine(t.Context(), &doctor.Subject{Config: parse(t, "http: {addr: \"\"}\n"), Tools: registry, Now: time.Now}), "tools")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: wanted %q in %q", name, c.want, got)
		}
	}
}
