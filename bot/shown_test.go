package bot_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// answers is a world whose model has said one thing, and the answer.
func answers(t *testing.T, text string) (*apptest.World, slacktest.Message) {
	t.Helper()
	w := apptest.Start(t, apptest.Options{Model: apptest.Play(apptest.Says(text))})
	ask := w.Slack.User("ana").Says("#ops", "@countersign say it")
	return w, w.Slack.Expect(slacktest.InThread(ask), answer)
}

// What the model writes is shown, and does nothing. That nobody was notified and no
// link was fetched is checked by the local Slack at the end of every test.
func TestModelTextIsShownNotObeyed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ says, shown, never string }{
		// Slack row 56: the three characters are escaped, and nobody is notified.
		"sequences": {says: "<!channel> <!here> <!subteam^S1> <@U1ABC> <#C1|x> a<b && c>d", shown: "<!channel> <!here> <!subteam^S1> <@U1ABC> <#C1|x> a<b && c>d", never: "&amp;amp;"},
		// A person whom the bot knows is named, not notified.
		"a person": {says: "Ask <@U0ANA>, or `<@U0ANA>` in code.", shown: "@ana", never: "Ask <@U0ANA>"},
		// Slack row 58: nothing else is encoded.
		"apostrophes": {says: "We've said \"so\" & that's it", shown: "We've said", never: "&#39;"},
		// Slack row 59: links of both kinds can be followed; a label that hides its target is not one.
		"links": {says: "[docs](https://example.com/docs) and <https://example.com/b?x=1&y=2>", shown: "https://example.com/b?x=1&y=2", never: "&amp;amp;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := answers(t, c.says)
			if shown := m.Shown(); !strings.Contains(shown, c.shown) || strings.Contains(shown, c.never) || strings.Contains(shown, "&#39;") {
				t.Errorf("shown:\n%s", shown)
			}
		})
	}
}

// Slack row 59: both kinds of links become links with the address that is shown.
func TestLinksOfBothKinds(t *testing.T) {
	t.Parallel()
	_, m := answers(t, "See [the docs](https://example.com/docs) and <https://example.com/b|B>.")
	for _, url := range []string{"https://example.com/docs", "https://example.com/b"} {
		if !strings.Contains(string(m.Now().Blocks), url) {
			t.Errorf("%s is not there: %s", url, m.Now().Blocks)
		}
	}
}

// Slack row 46: 2,900 characters outside of the basic plane are taken, whole.
// Slack row 47: a long text stands there once, complete: in the message, or whole in a file.
func TestLongTextsStandThereOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"emoji": strings.Repeat("👩‍👩‍👧🎉", 320) + " end-of-it", "Han": strings.Repeat("审批", 2000) + " end-of-it",
		"one word": strings.Repeat("x", 9000) + " end-of-it", "escaped": strings.Repeat("&<>", 2500) + " end-of-it",
		"lines": strings.Repeat("- a line of some words\n", 900) + " end-of-it",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m := answers(t, text)
			if n := strings.Count(string(m.Now().Blocks), "end-of-it"); n > 1 {
				t.Fatalf("its end stands there %d times", n)
			} else if n == 1 {
				return
			}
			w.Until("the whole as a file", func() bool {
				for _, x := range w.Slack.Server.Workspace().Messages("C0OPS", "") {
					for _, id := range x.Files {
						if f, ok := w.Slack.Server.Workspace().File(id); ok && string(f.Content) == text {
							return true
						}
					}
				}
				return false
			})
		})
	}
}

// Slack row 43: what grows when it is escaped is counted as it is sent.
// Slack row 46: so is what counts double.
// Slack row 49: a single long line is shown whole.
func TestArgumentsThatGrow(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"signs": strings.Repeat("&<>", 700) + "-the-end", "emoji": strings.Repeat("🎉", 900) + "-the-end", "one line": strings.Repeat("word ", 120) + "-the-end",
		"quotes": strings.Repeat(`"\`, 500) + "-the-end", "Han": strings.Repeat("删除", 600) + "-the-end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := json.Marshal(map[string]string{"what": value})
			if err != nil {
				t.Fatal(err)
			}
			wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", string(args)), apptest.Says("ok"))})
			w.Slack.User("ana").Says("#ops", "@countersign wipe it")
			card, mgr := w.Slack.Expect(slacktest.Button("approval_reject")), w.Slack.User("mgr")
			if _, whole := w.Slack.Find(slacktest.Button("approval_approve")); whole {
				if !strings.Contains(strings.ReplaceAll(card.Shown(), "\n", ""), "-the-end") {
					t.Fatalf("a card without the end can be approved:\n%s", card.Shown())
				}
				mgr.Clicks(card, "approval_approve")
			} else {
				mgr.Clicks(card, "approval_show")
				w.Slack.ExpectModal(mgr, "-the-end").MustSubmit()
			}
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if all := wipe.All(); len(all) != 1 || !strings.Contains(string(all[0].Args), "-the-end") {
				t.Errorf("%d calls", len(all))
			}
		})
	}
}

// Slack row 106: times are Slack's own tokens, so that each reader sees their zone, with
// words for who cannot.
func TestTimesAreTheReaders(t *testing.T) {
	t.Parallel()
	_, _, card := waiting(t, apptest.Options{})
	raw := string(card.Now().Blocks)
	if !strings.Contains(raw, "!date^") && !strings.Contains(raw, `"type":"date"`) {
		t.Errorf("no date token: %s", raw)
	}
	if strings.Contains(raw, `"type":"date"`) && !strings.Contains(raw, `"fallback":"`) {
		t.Errorf("no fallback: %s", raw)
	}
}

// Slack row 112: looking at things runs nothing: Show, the Home tab, a status, the list
// of what waits.
func TestLookingRunsNothing(t *testing.T) {
	t.Parallel()
	w, wipe, card := hiding(t, nil)
	ana, mgr := w.Slack.User("ana"), w.Slack.User("mgr")
	for range 3 {
		mgr.Clicks(card, "approval_show")
		w.Slack.ExpectModal(mgr, "the-last-word").Close()
	}
	mgr.OpensHome()
	w.Slack.ExpectHome(mgr, "wipe")
	mgr.Commands("#ops", "/countersign", "pending")
	ana.Says("#ops", "@countersign status")
	w.Slack.ExpectAcked()
	if wipe.Count() != 0 || runs(t, w) != 1 {
		t.Errorf("%d calls, %d runs", wipe.Count(), runs(t, w))
	}
}

// Slack row 44: more rows than a message takes: the first on the message, all of them in a file.
func TestManyRowsArePagedAndAttached(t *testing.T) {
	t.Parallel()
	rows := make([]string, 0, 300)
	for i := range 300 {
		rows = append(rows, fmt.Sprintf("| row-%d | x |", i))
	}
	w, m := answers(t, "| name | value |\n|---|---|\n"+strings.Join(rows, "\n"))
	if !strings.Contains(m.Shown(), "row-0") {
		t.Errorf("the first row is not shown:\n%s", m.Shown())
	}
	w.Until("every row in a file", func() bool {
		for _, x := range w.Slack.Server.Workspace().Messages("C0OPS", "") {
			for _, id := range x.Files {
				if f, ok := w.Slack.Server.Workspace().File(id); ok && strings.Contains(string(f.Content), "row-299") {
					return true
				}
			}
		}
		return strings.Contains(m.Shown(), "row-299")
	})
}
