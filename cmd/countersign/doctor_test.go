package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/bot"
	"countersign/bot/socket"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
)

// obedient is a model that calls the tool that the doctor names.
func obedient() *apptest.Script {
	return &apptest.Script{Turns: []apptest.Turn{apptest.Calls("confirm_setup", `{"word":"ready"}`)}}
}

// attentive is an obedient model whose server reads all that it is sent.
func attentive() *apptest.Script {
	return reading(apptest.Calls("confirm_setup", `{"word":"ready"}`))
}

// talkative is an attentive model that calls no tool.
func talkative() *apptest.Script { return reading(apptest.Says("Confirmed.")) }

func reading(offered apptest.Turn) *apptest.Script {
	return &apptest.Script{Turns: []apptest.Turn{{From: func(r apptest.Request) apptest.Turn {
		turn := apptest.Says("ready")
		if len(r.Tools) > 0 {
			turn = offered
		}
		turn.Read = len(strings.Fields(r.Raw))
		return turn
	}}}}
}

// healthy is a world in which the doctor finds nothing: two managers, a model that
// calls tools.
func healthy(t *testing.T, o apptest.Options) *desk {
	t.Helper()
	if o.Model == nil {
		o.Model = obedient()
	}
	o.Slack = append([]func(*localslack.Config){func(c *localslack.Config) {
		c.Usergroups[0].Members = []string{"U0MGR", "U0FIN"}
	}}, o.Slack...)
	w := apptest.New(t, o)
	return sit(t, w)
}

func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			d := healthy(t, apptest.Options{Database: database, Model: attentive(), YAML: "model: {window: 8192}\n"})
			d.must("migrate")
			golden(t, "doctor_"+database, d.must("doctor"))
		})
	}
}

// The doctor beside a bot that serves takes no part in its traffic.
func TestDoctorBesideServe(t *testing.T) {
	t.Parallel()
	d := healthy(t, apptest.Options{Env: map[string]string{"COUNTERSIGN_HTTP_ADDR": apptest.Free(t)}})
	d.World.Run()
	d.Until("a listener", func() bool { return running(t.Context(), d.env["COUNTERSIGN_HTTP_ADDR"]) == "ready" })
	before := d.Slack.Server.Connections()
	if out := d.must("doctor"); !strings.Contains(out, "serves here already and says: ready") {
		t.Error(out)
	}
	if after := d.Slack.Server.Connections(); after != before {
		t.Errorf("%d connections before, %d after", before, after)
	}
}

// mistake is something that an operator does wrong.
type mistake struct {
	name    string
	options apptest.Options
	make    func(d *desk)
	says    []string      // parts of one finding and its fix
	fine    bool          // a warning alone: the exit code is 0
	mend    func(d *desk) // what the fix asks for; nil: the table tells the finding alone
}

func mistakes() []mistake {
	slack := func(f func(*localslack.Config)) apptest.Options {
		return apptest.Options{Slack: []func(*localslack.Config){f}}
	}
	unset := func(name string) func(*desk) { return func(d *desk) { delete(d.env, name) } }
	set := func(name, value string) func(*desk) { return func(d *desk) { d.env[name] = value } }
	add := func(yaml string) apptest.Options { return apptest.Options{YAML: yaml} }
	scopes := func(missing string) func(*desk) {
		return func(d *desk) {
			var have []string
			for _, s := range localslack.DefaultScopes() {
				if s != missing {
					have = append(have, s)
				}
			}
			d.Slack.Allow(localslack.ViolationScope)
			d.Slack.Server.SetScopes(have...)
		}
	}
	return []mistake{
		{name: "no bot token", make: unset("SLACK_BOT_TOKEN"), says: []string{"slack.bot_token is missing", "Set SLACK_BOT_TOKEN"}, mend: (*desk).asBefore},
		{name: "no app token", make: unset("SLACK_APP_TOKEN"), says: []string{"slack.app_token is missing", "Set SLACK_APP_TOKEN"}, mend: (*desk).asBefore},
		{name: "swapped tokens", make: func(d *desk) {
			d.env["SLACK_APP_TOKEN"], d.env["SLACK_BOT_TOKEN"] = d.env["SLACK_BOT_TOKEN"], d.env["SLACK_APP_TOKEN"]
		}, says: []string{"this is the bot token", "swap the two"}, mend: (*desk).asBefore},
		{name: "wrong kind of token", make: set("SLACK_BOT_TOKEN", "xoxp-1-person"), says: []string{"this is not a bot token", "Bot User OAuth Token"}, mend: (*desk).asBefore},
		{name: "wrong bot token", make: set("SLACK_BOT_TOKEN", "xoxb-another"), says: []string{"Slack refuses SLACK_BOT_TOKEN (invalid_auth)", "Copy the Bot User OAuth Token"}, mend: (*desk).asBefore},
		{name: "wrong app token", make: set("SLACK_APP_TOKEN", "xapp-another"), says: []string{"Slack refuses SLACK_APP_TOKEN (invalid_auth)", "connections:write"}, mend: (*desk).asBefore},
		{name: "uninstalled", make: func(d *desk) { d.Slack.Server.BreakToken("account_inactive") }, says: []string{"no longer takes SLACK_BOT_TOKEN", "Install the app again"}, mend: func(d *desk) { d.Slack.Server.BreakToken("") }},
		{name: "app token without its scope", options: slack(func(c *localslack.Config) { c.App.AppScopes = []string{"authorizations:read"} }), make: func(d *desk) {
			d.Slack.Allow(localslack.ViolationScope)
		}, says: []string{"lacks the scope connections:write", "Make an app-level token"}},
		{name: "missing scope", make: scopes("groups:history"), says: []string{"lacks the scope groups:history", "install the app again"}, mend: (*desk).installed},
		{name: "missing usergroups:read", make: scopes("usergroups:read"), says: []string{"without the scope usergroups:read", "or name people by users"}, mend: (*desk).installed},
		{name: "missing users:read", make: scopes("users:read"), says: []string{"lacks the scope users:read, so it cannot tell who asks", "install the app again"}, mend: (*desk).installed},
		{name: "not invited", options: add("slack: {channels: [C0QUIET]}\n"), says: []string{"The bot is not in #quiet", "/invite @countersign"}, mend: func(d *desk) { d.invited("C0QUIET") }},
		{name: "unknown channel", options: add("slack: {channels: [C0NONE]}\n"), says: []string{"cannot see the channel C0NONE", "/invite @countersign"}},
		{name: "private channel without the scope", options: add("slack: {channels: [C0VAULT]}\n"), make: scopes("groups:read"), says: []string{"C0VAULT", "groups:read"}},
		{name: "in no channel", options: slack(func(c *localslack.Config) {
			for i := range c.Channels {
				c.Channels[i].Members = []string{"U0ANA"}
			}
		}), says: []string{"The bot is in no channel", "/invite @countersign"}, mend: func(d *desk) { d.invited("C0OPS") }},
		{name: "archived channel", options: add("slack: {approvals_channel: C0OPS}\n"), make: func(d *desk) {
			if err := d.Slack.Server.Archive("C0OPS", "U0MGR"); err != nil {
				d.t.Fatal(err)
			}
		}, says: []string{"#ops (C0OPS, slack.approvals_channel) is archived", "unarchive"}},
		{name: "empty group", options: slack(func(c *localslack.Config) { c.Usergroups[0].Members = nil }), says: []string{"@managers (S0MGR, roles.manager) is empty", "Add people"}, mend: (*desk).twoManagers},
		{name: "group switched off", options: slack(func(c *localslack.Config) { c.Usergroups[0].Disabled, c.Usergroups[0].Updated = true, 1 }), says: []string{"@managers (S0MGR, roles.manager) is switched off", "Switch it on"}, mend: (*desk).twoManagers},
		{name: "group that is not there", options: slack(func(c *localslack.Config) { c.Usergroups = c.Usergroups[1:] }), says: []string{"There is no user group S0MGR", "countersign ids"}, mend: (*desk).twoManagers},
		{name: "deactivated approver", options: slack(func(c *localslack.Config) { c.Usergroups[0].Members = []string{"U0MGR", "U0FIN", "U0EVE"} }),
			says: []string{"eve (U0EVE, @managers, roles.manager) is deactivated", "out of the role"}, fine: true, mend: (*desk).twoManagers},
		{name: "outsiders alone", options: slack(func(c *localslack.Config) { c.Usergroups[0].Members = []string{"U0OLI", "U0EVE"} }),
			says: []string{"Nobody can countersign", "Add a member"}, mend: (*desk).twoManagers},
		{name: "one approver", options: slack(func(c *localslack.Config) { c.Usergroups[0].Members = []string{"U0MGR"} }),
			says: []string{"Only mgr (U0MGR) may countersign", "one more person"}, fine: true, mend: (*desk).twoManagers},
		{name: "no approvers", options: apptest.Options{Approvals: "approvals: {ttl: 1h}"}, says: []string{"nobody may countersign", "delete_document"}, fine: true},
		{name: "clock behind", make: func(d *desk) { d.Slack.Server.SkewDate(time.Hour) }, says: []string{"1h0m", "behind Slack's", "NTP"}, mend: func(d *desk) { d.Slack.Server.SkewDate(0) }},
		{name: "clock ahead", make: func(d *desk) { d.Slack.Server.SkewDate(-time.Hour) }, says: []string{"ahead of Slack's", "NTP"}, mend: func(d *desk) { d.Slack.Server.SkewDate(0) }},
		{name: "clock apart from the database's", options: apptest.Options{Database: "postgres"}, make: func(d *desk) {
			d.now = func() time.Time { return time.Now().Add(5 * time.Second) }
		}, says: []string{"ahead of the database's", "no run is worked on", "NTP"}, mend: func(d *desk) { d.now = time.Now; d.must("migrate") }},
		{name: "database down", make: set("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none"), says: []string{"The database at 127.0.0.1:1/none cannot be reached.", "Start the server"}, mend: (*desk).asBefore},
		{name: "database not migrated", options: apptest.Options{Database: "postgres"}, says: []string{"has schema 0, and this version needs", "countersign migrate"}, fine: true, mend: func(d *desk) { d.must("migrate") }},
		{name: "no Slack", make: set("SLACK_API_URL", "http://127.0.0.1:1/api"), says: []string{"Slack cannot be reached.", "Check the network"}, mend: (*desk).asBefore},
		{name: "Socket Mode off", make: func(d *desk) { d.Slack.Server.RefuseOpen("link_disabled") }, says: []string{"Socket Mode is switched off", "Switch Socket Mode on"}, mend: func(d *desk) { d.Slack.Server.EnableLink() }},
		{name: "too many connections", make: (*desk).crowd, says: []string{"too_many_websockets", "ten connections"}},
		{name: "no model", make: set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), says: []string{"cannot be used", "provider's state"}, mend: (*desk).asBefore},
		{name: "wrong model name", options: apptest.Options{Model: choosy()}, make: set("OPENAI_MODEL", "playbok"), says: []string{"cannot be used", "OPENAI_MODEL"}, mend: (*desk).asBefore},
		{name: "wrong key", options: apptest.Options{Model: choosy()}, make: set("OPENAI_API_KEY", "tset"), says: []string{"cannot be used", "OPENAI_API_KEY"}, mend: (*desk).asBefore},
		{name: "model without tools", options: apptest.Options{Model: talkative()},
			says: []string{"with words instead of the tool call", "model.name"}, fine: true},
		{name: "folder that is not there", make: func(d *desk) {
			if err := os.RemoveAll(filepath.Join(d.Dir, "data")); err != nil {
				d.t.Fatal(err)
			}
		}, says: []string{"tools.files.root", "Correct that setting"}, mend: func(d *desk) { d.folder("data") }},
		{name: "service down", make: func(d *desk) { d.write(strings.ReplaceAll(d.text, d.shop(), "127.0.0.1:1")) }, says: []string{"Nobody answers at 127.0.0.1:1", "Start the service"}, fine: true, mend: (*desk).asBefore},
		{name: "address taken", make: func(d *desk) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				d.t.Fatal(err)
			}
			d.t.Cleanup(func() { _ = l.Close() }) // nobody uses it
			d.env["COUNTERSIGN_HTTP_ADDR"] = l.Addr().String()
		}, says: []string{"cannot be listened on", "COUNTERSIGN_HTTP_ADDR"}, mend: (*desk).asBefore},
		{name: "no folder for the database", make: func(d *desk) { d.env["DATABASE_URL"] = "sqlite:" + filepath.Join(d.Dir, "none", "x.db") },
			says: []string{"There is no folder", "Make the folder"}, mend: func(d *desk) { d.folder("none") }},
		{name: "house rules that are not there", make: func(d *desk) {
			d.write(strings.Replace(d.text, "window: 8192", "window: 8192, instructions: /nonexistent/rules.md", 1))
		}, says: []string{"The house rules cannot be read", "model.instructions"}, mend: (*desk).asBefore},
		{name: "unknown key", options: add("limit: {max_steps: 3}\n"), says: []string{"limit: unknown setting", "config check"}, mend: (*desk).asBefore},
		{name: "name instead of an id", make: func(d *desk) { d.write(strings.ReplaceAll(d.text, "S0MGR", "managers")) },
			says: []string{`"managers" is a name`, `countersign ids "managers"`}, mend: (*desk).asBefore},
		{name: "program of an MCP server that is not there", options: add("  mcp:\n    - {name: hub, command: [no-such-program]}\n"),
			says: []string{"The MCP server hub is not connected", "no-such-program", "correct command or url of tools.mcp"}, fine: true, mend: func(d *desk) {
				d.asBefore()
				d.write(d.sound + fmt.Sprintf("  mcp:\n    - {name: hub, url: %q}\n", startHub(d.t).url))
			}},
		{name: "role that may do anything", make: func(d *desk) {
			d.write(strings.Replace(d.text, "sqlite:"+d.Dir+"/shop.db", apptest.Postgres(d.t), 1))
		}, says: []string{"shop is asked as", "a superuser", "role of its own"}, fine: true, mend: (*desk).asBefore},
		{name: "newer schema", make: (*desk).migratedByNewer, says: []string{"has schema 99999, and this version knows", "newer version"}, mend: (*desk).readByNewer},
	}
}

// Each mistake is named with its fix, and with the fix applied nothing is left to say.
func TestDoctorNamesMistakes(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			d := healthyOr(t, m)
			p := d.run("doctor")
			if (p.code == 0) != m.fine {
				t.Errorf("exit code %d, %s", p.code, p.errs)
			}
			found := false
			for _, finding := range strings.Split(p.out, "\n") {
				found = found || strings.Contains(finding, m.says[0])
			}
			for _, part := range m.says {
				found = found && strings.Contains(p.out, part)
			}
			if !found || strings.Contains(p.out+p.errs, slacktest.BotToken) || strings.Contains(p.out+p.errs, slacktest.AppToken) {
				t.Errorf("wanted %q in\n%s%s", m.says, p.out, p.errs)
			}
			if m.mend == nil {
				return
			}
			m.mend(d)
			if out := d.must("doctor"); strings.Contains(out, "broken ") || strings.Contains(out, "warning ") {
				t.Errorf("mended, and still:\n%s", out)
			}
		})
	}
}

// crowd opens every connection that Slack allows an app, as ghosts and forgotten
// processes do.
func (d *desk) crowd() {
	d.t.Helper()
	const most = 10
	edge := bot.NewEdge(d.env["SLACK_BOT_TOKEN"], d.env["SLACK_APP_TOKEN"], d.env["SLACK_API_URL"], http.DefaultClient)
	ctx, cancel := context.WithCancel(context.Background())
	transport := socket.New(socket.Config{
		Open: edge.Open(), Connections: most, Timing: socket.Timing{Stagger: time.Millisecond},
		Handle: func(context.Context, socket.Envelope) socket.Response { return socket.Response{Ack: true} },
	})
	ended := make(chan error, 1)
	go func() { ended <- transport.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		<-ended
	})
	d.Until("ten connections", func() bool { return d.Slack.Server.Connections() == most })
}

// healthyOr is a healthy world with one mistake in it.
func healthyOr(t *testing.T, m mistake) *desk {
	t.Helper()
	extra := m.options.YAML
	m.options.YAML = ""
	if m.options.Model == nil {
		m.options.Model = attentive()
	}
	d := healthy(t, m.options)
	d.before, d.sound = maps.Clone(d.env), "model: {window: 8192}\n"+d.text
	d.write(d.sound + extra)
	if m.make != nil {
		m.make(d)
	}
	return d
}

// shop is the address of the world's shop.
func (d *desk) shop() string {
	_, after, _ := strings.Cut(d.text, `url: "http://`)
	address, _, _ := strings.Cut(after, "/")
	return address
}
