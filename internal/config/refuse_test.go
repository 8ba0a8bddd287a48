package config_test

import (
	"strings"
	"testing"
)

// refusals are configurations that must not start, each with what the message
// must say. A text without "line" in want is not bound to a place.
var refusals = []struct {
	name, text, want string
}{
	{"not YAML", "slack: [", "line 1"},
	{"tab", "slack:\n\tchannels: []", "this is not YAML"},
	{"key twice", "limits: {max_steps: 1}\nlimits: {max_steps: 2}", "line 2"},
	{"two documents", "limits: {max_steps: 1}\n---\nlimits: {max_steps: 2}", "a second document"},
	{"a list as the whole", "- a", "here stand settings"},
	{"settings for a word", "limits: {max_steps: {a: 1}}", "limits.max_steps: here stands one value"},
	{"word for settings", "limits: 4", "limits: here stand settings"},
	{"word for a list", "slack: {channels: C1}", "write it as [a, b]"},
	{"empty item", "slack: {channels: [C1, ~]}", "slack.channels[1]: an empty item"},
	{"truth as text", "model: {name: true}", "write it in quotes"},
	{"yes as truth", "approvals: {self_approval: yes}", `"yes" is neither true nor false`},
	{"truth in quotes", `approvals: {self_approval: "true"}`, "neither true nor false"},
	{"fraction of steps", "limits: {max_steps: 1.5}", "no whole number"},
	{"endless price", "model: {price: {input_per_million: .inf}}", "no number"},
	{"zero steps", "limits: {max_steps: 0}", "line 1, column 21: limits.max_steps: must be at least 1"},
	{"time without unit", "approvals: {ttl: 60}", "a time needs a unit"},
	{"time that is none", "approvals: {ttl: soon}", `"soon" is no time`},
	{"negative time", "approvals: {ttl: -5m}", "negative"},
	{"no time at all", "approvals: {ttl: 0s}", "approvals.ttl: must be at least 1s"},
	{"unknown word", "slack: {thread_replies: always}", `"always" is not one of mention, all`},
	{"merge key", "limits: {<<: {max_steps: 1}}", "merge keys"},
	{"alias of nothing", "limits: *none", "names no anchor"},
	{"alias of itself", "redact: &a [*a]", "redact"},

	{"channel by name", "slack: {channels: [\"#sales\"]}", `countersign ids "sales"`},
	{"person by name", "roles:\n  manager:\n    users:\n      - ana", `line 4, column 9: roles.manager.users[0]: "ana" is a name`},
	{"name in capitals", "roles: {manager: {users: [UMA]}}", "is a name"},
	{"group among people", "roles: {manager: {users: [S12345678]}}", "S12345678 is a user group's id (usergroups); here stands a person's id"},
	{"person among channels", "slack: {approvals_channel: U12345678}", "here stands a channel's id"},
	{"role without people", "roles: {manager: {}}", "holds nobody"},
	{"role's name", "roles: {Über: {users: [U1]}}", "a role's name"},
	{"approver role unknown", "approvals: {approvers: [boss]}\nroles: {manager: {users: [U1]}}", `no role is named "boss"; roles: manager`},
	{"approvers by channel", "roles: {all: {channels: [C1]}}\napprovals: {approvers: [all]}", "never approve"},
	{"tool's role unknown", "tools: {files: {root: d, roles: [x]}}", `tools.files.roles: no role is named "x"; roles: none`},

	{"sweep slower than expiry", "approvals: {ttl: 1m, sweep: 2m}", "shorter than approvals.ttl"},
	{"reminder after expiry", "approvals: {ttl: 5m, remind: [10m]}", "approvals.remind[0]: is not before the expiry"},
	{"escalation after expiry", "approvals: {ttl: 5m, escalate: {after: 10m, to: [m]}}\nroles: {m: {users: [U1]}}", "comes after the expiry"},
	{"escalation to nobody", "approvals: {escalate: {after: 10m}}", "to is missing"},
	{"quorum of none", "approvals: {quorum: 0}", "must be at least 1"},
	{"quorum out of reach", "roles: {m: {users: [U1, U1]}}\napprovals: {approvers: [m], quorum: 2}", "2 people are needed, but the roles m name 1"},
	{"nobody for a quorum of one", "roles: {m: {channels: [C1]}}\napprovals: {approvers: [m]}", "1 person is needed, but the roles m name 0"},

	{"codes without a key", "approvals: {step_up: totp}", "line 1, column 22: approvals.step_up: takes one-time codes, whose secrets need a key: set approvals.totp_key; make one with `openssl rand -base64 32`"},
	{"codes of a rule without a key", "rules: [{tool: t, step_up: totp}]", "rules[0].step_up: takes one-time codes"},
	{"break-glass without a key", "roles: {m: {users: [U1]}}\napprovals: {break_glass: [m]}", "approvals.break_glass: takes one-time codes"},
	{"short key", "approvals: {totp_key: c2hvcnQ=}", "approvals.totp_key: is no key of at least 32 bytes in base64 or hex; make one with `openssl"},
	{"passphrase for a key", "approvals: {totp_key: \"correct horse battery staple, and some more of it\"}", "approvals.totp_key: is no key"},
	{"placeholder for a key", "approvals: {totp_key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}", "approvals.totp_key: is not random"},
	{"old key alone", "approvals: {totp_old_keys: [5yKq0Zf3uR8mVw1xBhTgPnLs7cDjE2oA9iUeYtQbXk4=]}", "approvals.totp_old_keys: needs approvals.totp_key"},
	{"bad old key", "approvals: {totp_key: 5yKq0Zf3uR8mVw1xBhTgPnLs7cDjE2oA9iUeYtQbXk4=, totp_old_keys: [x]}", "approvals.totp_old_keys[0]: is no key"},

	{"grant without end", "approvals: {grants: {count: 100000, within: 8h}}", "line 1, column 29: approvals.grants.count: one grant may be for at most 1000 calls"},
	{"grant for ever", "approvals: {grants: {count: 20, within: 87600h}}", "approvals.grants.within: one grant may be for at most 720h"},

	{"rule for everything", "rules: [{risk: high}]", "needs tool or when"},
	{"rule that eases freely", "rules: [{tool: t, risk: low}]", "needs at_most"},
	{"rule that eases and asks", "rules: [{tool: t, risk: low, quorum: 1, at_most: {count: 1, within: 1h}}]", "mean nothing for a call of low risk"},
	{"rule that denies and asks", "rules: [{tool: t, deny: no, risk: high}]", "nothing else can be said"},
	{"bound of nothing", "rules: [{tool: t, risk: high, at_most: {count: 1, within: 1h}}]", "lowers none"},
	{"bound without count", "rules: [{tool: t, risk: low, at_most: {within: 1h}}]", "needs count"},
	{"sum of an expression", "rules: [{tool: t, risk: low, at_most: {sum: args.a * 2, limit: 3, within: 1h}}]", "one argument"},

	{"tokens swapped", "slack: {app_token: xoxb-1, bot_token: xapp-1}", "swap the two"},
	{"bot token alone in the wrong place", "slack: {app_token: xoxb-1}", "this is not an app-level token"},
	{"user token", "slack: {bot_token: xoxp-1}", "this is not a bot token"},
	{"token of nothing", "slack: {bot_token: xoxb-}", "this is not a bot token"},
	{"token with space", `slack: {bot_token: "xoxb-1 "}`, "space around"},
	{"variable not set", "slack:\n  bot_token: ${NOT_SET}", "line 2, column 14: slack.bot_token: the environment variable NOT_SET is not set"},
	{"secret file missing", "slack: {bot_token: file:/nowhere/token}", "the file /nowhere/token cannot be read: no such file"},

	{"database unknown", "database: {url: mysql://h/d}", "mysql is not supported"},
	{"database in memory", "database: {url: \"sqlite::memory:\"}", "would lose every run"},
	{"sqlite with slashes", "database: {url: sqlite://a.db}", "without slashes"},
	{"database without file", "database: {url: \"sqlite:\"}", "write sqlite:FILE"},
	{"postgres without database", "database: {url: postgres://h}", "no address of Postgres"},
	{"listener without port", "http: {addr: localhost}", "no host:port"},
	{"model's address", "model: {base_url: api.example/v1}", "begins with https://"},

	{"tool without root", "tools: {files: {}}", "root is missing"},
	{"root empty", `tools: {files: {root: ""}}`, "name a folder"},
	{"our own database", "tools: {sql: [{name: own, url: sqlite:countersign.db}]}", "our own database"},
	{"our own database, spelled in another way", "database: {url: \"postgres://u@h:5432/own\"}\ntools: {sql: [{name: own, url: \"postgres://u@/x?host=h&dbname=own\"}]}", "our own database"},
	{"our own database, one of several hosts", "database: {url: \"postgres://u@h:5432/own\"}\ntools: {sql: [{name: own, url: \"postgres://u@other,h/own\"}]}", "our own database"},
	{"a server that could take another's names", "tools: {mcp: [{name: ops, command: [a]}, {name: ops_web, command: [b]}]}", "could take the name"},
	{"tool's name", "tools: {http: [{name: a b, description: d, url: https://h}]}", "is no name"},
	{"tool's name built in", "tools: {http: [{name: ask_user, description: d, url: https://h}]}", "built-in"},
	{"tool's name twice", "tools: {http: [{name: a, description: d, url: https://h}, {name: a, description: d, url: https://h}]}", "tools.http[1].name: the name a is taken"},
	{"header with a line break", `tools: {http: [{name: a, description: d, url: https://h, headers: {A: "x\ny"}}]}`, "one line"},
	{"header's name", `tools: {http: [{name: a, description: d, url: https://h, headers: {"A b": x}}]}`, "no name of a header"},
	{"parameters of no object", "tools: {http: [{name: a, description: d, url: https://h, parameters: {type: array}}]}", "type: object"},
	{"window without key", "tools: {http: [{name: a, description: d, url: https://h, idempotency_window: 1h}]}", "without idempotent"},
	{"mount inside", "tools: {sandbox: {image: i, mounts: [{host: a, at: data}]}}", "absolute path"},
	{"size of nothing", "tools: {sandbox: {image: i, memory: lots}}", "is no size"},
	{"server by two ways", "tools: {mcp: [{name: a, command: [x], url: https://h}]}", "one or the other"},
	{"server by no way", "tools: {mcp: [{name: a}]}", "needs command or url"},
	{"pattern", "redact: ['(']", "no regular expression"},
	{"pattern of everything", "redact: ['x*']", "mask everything"},
	{"cron line of words", "schedules: [{name: a, cron: 'every day', channel: C1, text: t, owner: U1}]", "schedules[0].cron: is no cron line"},
	{"cron line of six fields", "schedules: [{name: a, cron: '0 0 3 * * *', channel: C1, text: t, owner: U1}]", "five fields"},
	{"cron line out of range", "schedules: [{name: a, cron: '61 * * * *', channel: C1, text: t, owner: U1}]", "is no cron line"},
	{"cron line of a day that is none", "schedules: [{name: a, cron: '0 0 31 2 *', channel: C1, text: t, owner: U1}]", "never comes"},
	{"cron line with a time zone", "schedules: [{name: a, cron: 'TZ=UTC', channel: C1, text: t, owner: U1}]", "names a time zone"},
	{"cost of a run without a price", "limits: {max_cost: 1}", "line 1, column 20: limits.max_cost: would never be reached"},
	{"cost of a day without a price", "limits: {per_day: {user: {cost: 1}, channel: {tokens: 9}}}", "limits.per_day.user.cost: would never be reached"},
	{"cost of all without a price", "limits: {per_day: {channel: {cost: 1}, all: {cost: 2}}}", "limits.per_day.all.cost: would never be reached"},
	{"schedule twice", "schedules: [{name: a, cron: '@daily', channel: C1, text: t, owner: U1}, {name: a, cron: '@daily', channel: C1, text: t, owner: U1}]", "two schedules"},
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, c.text, nil)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v\nwant  … %s …", err, c.want)
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "countersign.yaml line ") {
					t.Errorf("no place in %q", line)
				}
			}
		})
	}
}

// later are settings whose feature does not exist yet. A line goes to the tests
// of the feature once it is built.
var later = []struct{ text, want string }{}

func TestSettingsOfLaterVersionsStopTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range later {
		_, err := parse(t, c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: error = %v, want one line … %s …", c.text, err, c.want)
		}
	}
}
