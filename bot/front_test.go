package bot_test

import (
	"testing"
	"time"

	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// answer is the final answer of a run.
var answer = slacktest.MetaHas("subject", "/answer")

func TestSlashCommandIsAnsweredPrivately(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ana.Says("#ops", "@countersign wipe x")
	w.Slack.Expect(slacktest.Button("approval_approve"))
	mgr.Commands("#ops", "/countersign", "pending")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("wipe"), slacktest.Text("waits for your decision"), slacktest.Text("|The request>"), slacktest.Text("Open until"))
	ana.Commands("#ops", "/countersign", "pending")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("Nothing waits for you"))
	ana.Commands("#ops", "/countersign", "help")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("wipe"))
}

// Who may not ask is not shown what others may ask for.
func TestHelpOfOutsidersNamesNoTools(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{&apptest.Counter{Name: "wipe", Risk: tools.High}}, Model: apptest.Play(apptest.Says("ok"))})
	for _, name := range []string{"oli", "gus"} {
		who := w.Slack.User(name)
		who.Commands("#ops", "/countersign", "help")
		w.Slack.Expect(slacktest.OnlyFor(who), slacktest.Text("full members of this workspace"), slacktest.NoText("wipe"))
		who.Says("#ops", "@countersign help")
		w.Slack.Expect(slacktest.OnlyFor(who), slacktest.Text("full members of this workspace"), slacktest.NoText("wipe"))
	}
}

// A stop that was typed while no process was there is obeyed when one is back.
func TestStopTypedWhileDownIsObeyed(t *testing.T) {
	t.Parallel()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	w := apptest.New(t, apptest.Options{
		Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok")),
		Slack: []func(*localslack.Config){func(c *localslack.Config) { c.Timing.Retries = []time.Duration{0, 0, 0} }},
	})
	first := w.Run()
	ana := w.Slack.User("ana")
	ask := ana.Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.Button("approval_approve"))
	w.Stop(first)
	lost := len(w.Slack.Server.Lost())
	ana.Replies(ask, "stop")
	w.Until("events that Slack gave up", func() bool { return w.Slack.Server.Waiting() == 0 && len(w.Slack.Server.Lost()) > lost })
	w.Run()
	w.Slack.ExpectUpdate(card, slacktest.NoButton("approval_approve"))
	if wipe.Count() != 0 {
		t.Error("a stopped run went on")
	}
}

// A thread's runs work one at a time: the second asker's model call starts when the
// first one's run has come to rest.
func TestRunsOfAThreadWorkInOrder(t *testing.T) {
	t.Parallel()
	slow := apptest.Play(apptest.Turn{From: func(apptest.Request) apptest.Turn { time.Sleep(300 * time.Millisecond); return apptest.Says("done") }})
	w := apptest.Start(t, apptest.Options{Model: slow})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	ask := ana.Says("#ops", "@countersign first")
	mgr.Replies(ask, "@countersign second")
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("done"))
	w.Slack.Expect(slacktest.InThread(ask), answer, slacktest.Text("done"))
	starts := slow.Times()
	if len(starts) != 2 || starts[1].Sub(starts[0]) < 300*time.Millisecond {
		t.Errorf("the model was asked at %v", starts)
	}
}

// Help lists what this person may ask for in this channel, in their language.
func TestHelpShowsWhatIsPossibleHere(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{
		Model: apptest.Play(apptest.Says("ok")), Roles: "  vaulted: {channels: [C0VAULT]}\n",
		Extra: []tools.Tool{restricted{&apptest.Counter{Name: "open_vault", Risk: tools.Low}, []string{"vaulted"}}, restricted{&apptest.Counter{Name: "manage", Risk: tools.Low}, []string{"manager"}}},
	})
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	if err := w.Slack.Server.PutPerson(localslack.Person{ID: mgr.ID, Name: "mgr", RealName: "Manager", Locale: "zh-CN"}); err != nil {
		t.Fatal(err)
	}
	ana.Says("#ops", "@countersign help")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("refund"), slacktest.NoText("open_vault"), slacktest.NoText("manage"), slacktest.Text("Mention me"))
	ana.Says("#vault", "@countersign help")
	w.Slack.Expect(slacktest.OnlyFor(ana), slacktest.Text("open_vault"), slacktest.NoText("manage"))
	mgr.Says("#ops", "@countersign 帮助")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("manage"), slacktest.NoText("open_vault"), slacktest.Text("我会在消息列里处理"))
	if n := runs(t, w); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// restricted is a counter that only some may ask for.
type restricted struct {
	*apptest.Counter
	roles []string
}

func (r restricted) Spec() tools.Spec {
	s := r.Counter.Spec()
	s.Roles = r.roles
	return s
}
