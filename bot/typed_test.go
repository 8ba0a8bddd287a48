package bot_test

import (
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// lastAsked is the newest words of a person that the model got.
func lastAsked(s *apptest.Script) string {
	asked := ""
	for _, m := range s.Last().Messages {
		if m.Role == "user" {
			asked = m.Content
		}
	}
	return asked
}

// What people type reaches the model as they meant it.
func TestTypedReachesTheModel(t *testing.T) {
	t.Parallel()
	const bot = "<@U0BOT>"
	for name, c := range map[string]struct{ typed, blocks, want string }{
		// Slack row 62: an address that Slack made a link of is an address again.
		"mail": {typed: bot + " refund <mailto:a@b.co|a@b.co>", want: "refund a@b.co"},
		// Slack row 64: any address is unwrapped, with ports, capitals, queries and percents.
		"address": {typed: bot + " fetch <http://Host.Corp:8080/x?y=%20&amp;z=1|Host.Corp:8080/x>", want: "http://Host.Corp:8080/x?y=%20&z=1"},
		// Slack row 65: the three characters are decoded once.
		"escaped": {typed: bot + " find (&amp;(cn=a)(mail=*)) where a &lt; b &amp;amp; c", want: "find (&(cn=a)(mail=*)) where a < b &amp; c"},
		// Slack row 67: any space of Unicode ends the mention.
		"no-break space":    {typed: bot + "\u00a0status of x", want: "status of x"},
		"ideographic space": {typed: bot + "\u3000查余额", want: "查余额"},
		"no space at all":   {typed: bot + "查余额", want: "查余额"},
		// Slack row 68: what people quote stays theirs in free text.
		"curly quotes": {typed: bot + " say “hello” — now", want: "say “hello” — now"},
		// Slack row 70: lines and code stay as they are.
		"lines and code": {typed: bot + "\nrun this:\n```SELECT  ':smile:', 'a@b.co' -- x\n\tFROM t;```", want: "SELECT  ':smile:', 'a@b.co' -- x\n\tFROM t;"},
		"code in blocks": {
			typed: bot + " run",
			blocks: `[{"type":"rich_text","block_id":"b","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U0BOT"},{"type":"text","text":" run"}]},` +
				`{"type":"rich_text_preformatted","elements":[{"type":"text","text":"SELECT “x”  FROM t\n WHERE mail = "},{"type":"link","url":"mailto:a@b.co","text":"a@b.co"}]}]}]`,
			want: "SELECT “x”  FROM t\n WHERE mail = a@b.co",
		},
		// Slack row 113: only the exact word stops; a sentence that begins with it is a request.
		"a sentence with stop": {typed: bot + " stop the deploy of x", want: "stop the deploy of x"},
		"stop in a question":   {typed: bot + " when did it stop?", want: "when did it stop?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := apptest.Play(apptest.Says("ok"))
			w := apptest.Start(t, apptest.Options{Model: model})
			ask := w.Slack.User("ana").Posts(localslack.Post{Channel: "C0OPS", Text: c.typed, Raw: true, Blocks: []byte(c.blocks)})
			w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("ok"))
			if got := lastAsked(model); !strings.Contains(got, c.want) {
				t.Errorf("the model was asked %q, want %q", got, c.want)
			}
		})
	}
}

// Slack row 113: a stop goes before the queue: it reaches the run whose model has not answered yet.
// Slack row 68: capitals, spaces, marks, curly quotes and a flag's dashes around a control
// word do not hide it.
func TestStopGoesFirst(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"stop", "Stop!", " STOP ", "停止", "“stop”", "—stop"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			wipe := &apptest.Counter{Name: "wipe", Risk: tools.Low}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Turn{From: func(apptest.Request) apptest.Turn {
				<-release
				return apptest.Calls("wipe", `{"what":"x"}`)
			}})})
			ana := w.Slack.User("ana")
			ask := ana.Says("#ops", "@countersign wipe x")
			line := w.Slack.Expect(slacktest.InThread(ask), progress)
			ana.Replies(ask, word)
			w.Slack.ExpectAcked()
			close(release)
			w.Slack.ExpectUpdate(line, slacktest.Text("topped"), slacktest.NoButton("run_stop"))
			if wipe.Count() != 0 {
				t.Error("it went on")
			}
		})
	}
}

// Slack row 73: three follow-ups to a run that is not finished are three turns of it.
// Slack row 71: everything that the bot says of it stands in the thread.
func TestFollowUpsAreTurnsOfOneRun(t *testing.T) {
	t.Parallel()
	model := apptest.Play(
		apptest.Calls("ask_user", `{"question":"which?"}`), apptest.Calls("ask_user", `{"question":"sure?"}`),
		apptest.Calls("ask_user", `{"question":"really?"}`), apptest.Says("all told"),
	)
	w := apptest.Start(t, apptest.Options{Model: model})
	ana := w.Slack.User("ana")
	root := ana.Says("#ops", "good morning")
	ana.Replies(root, "@countersign do it")
	for _, step := range [][2]string{{"which?", "this one"}, {"sure?", "yes"}, {"really?", "really"}} {
		w.Slack.Expect(slacktest.InThread(root), slacktest.MetaHas("subject", "/question"), slacktest.Text(step[0]))
		ana.Replies(root, step[1])
	}
	w.Slack.Expect(slacktest.InThread(root), answer, slacktest.Text("all told"))
	if n := runs(t, w); n != 1 || len(model.Requests()) != 4 {
		t.Errorf("%d runs, %d turns", n, len(model.Requests()))
	}
	for _, m := range w.Slack.All(w.Slack.In("#ops")) {
		if m.Now().ThreadTS != root.TS {
			t.Errorf("outside of the thread: %s", m.Shown())
		}
	}
}
