package slacktext_test

import (
	"testing"

	"countersign/bot/slacktext"
	"countersign/localslack/slacktest"
)

// What people type on the local Slack reaches the bot as blocks and as text;
// both must read the same.
func TestReadWhatWasTyped(t *testing.T) {
	t.Parallel()
	ws := slacktest.New(t)
	ana := ws.User("ana")
	reader := slacktext.Reader{Self: "U0BOT", Name: func(id string) string {
		p, _ := ws.Server.Workspace().Person(id)
		return p.RealName
	}}
	tests := []struct{ typed, want string }{
		{"@countersign 查张三的余额，不到 100 就发充值提醒", "查张三的余额，不到 100 就发充值提醒"},
		{"@countersign refund a@b.co & <b> of @mgr", "refund a@b.co & <b> of @Manager (U0MGR)"},
		{"@countersign read https://host.example:8080/x?y=%20&z=1", "read https://host.example:8080/x?y=%20&z=1"},
		{"@countersign stop", "stop"},
		{"<@U0BOT> <!channel> &amp;", "<@U0BOT> <!channel> &amp;"},
	}
	for _, tt := range tests {
		m := ana.Says("#ops", tt.typed).Now()
		blocks := reader.Read(slacktext.Message{Text: "unused", Blocks: m.Blocks})
		text := reader.Read(slacktext.Message{Text: m.Text})
		if blocks.Text != tt.want || text.Text != tt.want {
			t.Errorf("typed %q\nblocks %q\ntext   %q\nwant   %q", tt.typed, blocks.Text, text.Text, tt.want)
		}
		if blocks.Mentioned != text.Mentioned {
			t.Errorf("typed %q: mentioned by blocks %t, by text %t", tt.typed, blocks.Mentioned, text.Mentioned)
		}
	}
}
