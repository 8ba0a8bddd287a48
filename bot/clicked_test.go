package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals/decisions"
	"countersign/bot"
	"countersign/internal/app"
	"countersign/internal/apptest"
	"countersign/localslack"
	"countersign/localslack/slacktest"
	"countersign/tools"
)

// waiting is a world with one card that waits.
func waiting(t *testing.T, o apptest.Options) (*apptest.World, *apptest.Counter, slacktest.Message) {
	t.Helper()
	wipe := &apptest.Counter{Name: "wipe", Risk: tools.High}
	o.Extra, o.Model = []tools.Tool{wipe}, apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok"))
	w := apptest.Start(t, o)
	w.Slack.User("ana").Says("#ops", "@countersign wipe x")
	return w, wipe, w.Slack.Expect(slacktest.Button("approval_approve"))
}

// While Slack cannot say who somebody is, nobody may decide; a moment later they may.
// Slack row 103.
// Slack rows 20, 25.
func TestLookUpFailureRefuses(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"users.info", "usergroups.users.list"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			clock := &apptest.Shifted{}
			w, wipe, card := waiting(t, apptest.Options{Now: clock.Now})
			mgr := w.Slack.User("mgr")
			clock.Shift(2 * time.Second) // looks within a second are shared
			w.Slack.Server.BreakAPI(localslack.APIFault{Method: method, Error: "internal_error"})
			mgr.Clicks(card, "approval_approve")
			w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("can't check right now"))
			w.Slack.Server.Mend()
			mgr.Clicks(card, "approval_approve")
			w.Slack.Expect(answer, slacktest.Text("ok"))
			if wipe.Count() != 1 {
				t.Errorf("it ran %d times", wipe.Count())
			}
		})
	}
}

// A person is known by their id: a new name changes nothing, a payload's team neither,
// and who left the group a moment ago may no longer decide.
// Slack rows 17, 22, d, h.
func TestClickerIsKnownByID(t *testing.T) {
	t.Parallel()
	w, wipe, card := waiting(t, apptest.Options{})
	mgr, fin := w.Slack.User("mgr"), w.Slack.User("fin")
	if err := w.Slack.Server.PutPerson(localslack.Person{ID: fin.ID, Name: "mgr2", RealName: "Manager"}); err != nil {
		t.Fatal(err)
	}
	fin.Clicks(card, "approval_approve") // called as the manager is
	w.Slack.Expect(slacktest.OnlyFor(fin), slacktest.Text("Only people with the role"))
	group := localslack.Usergroup{ID: "S0MGR", Handle: "managers", Name: "Managers"}
	if err := w.Slack.Server.PutUsergroup(group); err != nil {
		t.Fatal(err)
	}
	w.Slack.ExpectAcked()
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("Only people with the role"))
	group.Members = []string{mgr.ID}
	if err := errors.Join(w.Slack.Server.PutUsergroup(group), w.Slack.Server.PutPerson(localslack.Person{ID: mgr.ID, Name: "boss", RealName: "Boss"})); err != nil {
		t.Fatal(err)
	}
	w.Slack.ExpectAcked()
	_, err := mgr.Press(localslack.Click{Channel: card.Channel, TS: card.TS, ActionID: "approval_approve", Forge: plainly(func(p map[string]any) {
		p["team"] = nil
		p["user"].(map[string]any)["team_id"] = "T0ELSE"
	})})
	if err != nil {
		t.Fatal(err)
	}
	w.Slack.Expect(answer, slacktest.Text("ok"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// What a button carries is no authority: forged values and foreign apps decide nothing.
// Slack row P10.
// Row B50.
func TestForgedClicks(t *testing.T) {
	t.Parallel()
	w, wipe, card := waiting(t, apptest.Options{})
	mgr := w.Slack.User("mgr")
	action := func(p map[string]any) map[string]any { return p["actions"].([]any)[0].(map[string]any) }
	for name, forge := range map[string]func(map[string]any){
		"another digest": func(p map[string]any) {
			a := action(p)
			a["value"] = strings.ReplaceAll(a["value"].(string), `"d":"`, `"d":"0`)
		},
		"no value":        func(p map[string]any) { delete(action(p), "value") },
		"not ours":        func(p map[string]any) { action(p)["value"] = `{"approval":"a1","revision":1}` },
		"an old action":   func(p map[string]any) { action(p)["action_id"] = "approval_ok" },
		"another app":     func(p map[string]any) { p["api_app_id"] = "A0ELSE" },
		"no action":       func(p map[string]any) { p["actions"] = []any{} },
		"nobody":          func(p map[string]any) { p["user"] = map[string]any{} },
		"a stranger":      func(p map[string]any) { p["user"] = map[string]any{"id": "U0NOBODY", "team_id": "T0LOCAL"} },
		"somebody former": func(p map[string]any) { p["user"] = map[string]any{"id": "U0EVE", "team_id": "T0LOCAL"} },
	} {
		if _, err := mgr.Press(localslack.Click{Channel: card.Channel, TS: card.TS, ActionID: "approval_approve", Forge: plainly(forge)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.Slack.ExpectAcked()
	mgr.Clicks(card, "approval_reject")
	w.Slack.ExpectModal(mgr, "Why not?").MustSubmit()
	w.Slack.ExpectUpdate(card, slacktest.Text("Rejected"))
	if wipe.Count() != 0 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// plainly lets a forger see the payload as JSON.
func plainly(forge func(map[string]any)) func(map[string]any) {
	return func(p map[string]any) {
		raw, err := json.Marshal(p)
		var q map[string]any
		if err == nil {
			err = json.Unmarshal(raw, &q)
		}
		if err != nil {
			panic(err)
		}
		forge(q)
		clear(p)
		maps.Copy(p, q)
	}
}

// A click that no socket takes, or that is answered too late, leaves the card usable.
// Slack rows P3, P11.
func TestLostClickLeavesTheCardUsable(t *testing.T) {
	t.Parallel()
	w, wipe, card := waiting(t, apptest.Options{Slack: []func(*localslack.Config){func(c *localslack.Config) { c.Timing.Ack = 2 * time.Second }}})
	mgr := w.Slack.User("mgr")
	w.Slack.Server.BreakDelivery(localslack.DeliveryFault{Type: "block_actions", Times: 1, Drop: true})
	if out := mgr.TriesToClick(card, "approval_approve"); out.Acked || out.Notice == "" {
		t.Errorf("a dropped click shows %+v", out)
	}
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("ok"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// stumbling is a database that fails or is slow when it is told to.
type stumbling struct {
	app.Ports
	saves atomic.Int32 // clicks that cannot be stored
	fails func()       // what happens meanwhile; nil: nothing
	slow  atomic.Bool  // a look at an approval waits until it is not
}

func (s *stumbling) SaveClick(ctx context.Context, c bot.Click) (bool, error) {
	if s.saves.Add(-1) >= 0 {
		if s.fails != nil {
			s.fails()
		}
		return false, errors.New("the database is away")
	}
	return s.Ports.SaveClick(ctx, c)
}

func (s *stumbling) Case(ctx context.Context, id string) (*decisions.Case, error) {
	for s.slow.Load() && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	return s.Ports.Case(ctx, id)
}

// stumble is a waiting world over such a database.
func stumble(t *testing.T) (*apptest.World, *apptest.Counter, slacktest.Message, *stumbling) {
	t.Helper()
	wipe, s := &apptest.Counter{Name: "wipe", Risk: tools.High}, &stumbling{}
	w := apptest.New(t, apptest.Options{
		Extra: []tools.Tool{wipe}, Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok")),
		Slack: []func(*localslack.Config){func(c *localslack.Config) { c.Timing.Ack = 3 * time.Second }},
	})
	w.RunBetween(func(p app.Ports) app.Ports { s.Ports = p; return s })
	w.Slack.User("ana").Says("#ops", "@countersign wipe x")
	return w, wipe, w.Slack.Expect(slacktest.Button("approval_approve")), s
}

// A click that cannot be stored is not acknowledged: the person is told to press
// again, and then it counts once.
// Slack row 40.
func TestUnstoredClickIsSaidSo(t *testing.T) {
	t.Parallel()
	w, wipe, card, s := stumble(t)
	mgr := w.Slack.User("mgr")
	s.saves.Store(1)
	if out := mgr.TriesToClick(card, "approval_approve"); out.Acked {
		t.Error("a click that was not stored was acknowledged")
	}
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("not saved"))
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("ok"))
	if wipe.Count() != 1 {
		t.Errorf("it ran %d times", wipe.Count())
	}
}

// A slow database opens the form all the same, and fills it when it can.
// Slack rows 107, P9.
func TestFormOpensBeforeTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	w, _, card, s := stumble(t)
	mgr := w.Slack.User("mgr")
	s.slow.Store(true)
	mgr.Clicks(card, "approval_edit")
	w.Slack.ExpectModal(mgr, "Looking it up")
	s.slow.Store(false)
	form := w.Slack.ExpectModal(mgr, "Edit before it runs")
	if got := form.Initial("arg:what"); got != "x" {
		t.Errorf("the form holds %q", got)
	}
}

// A person's form shows what they may not save at its field, in their language.
func TestFormErrorsSpeakTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := apptest.Start(t, apptest.Options{
		Extra: []tools.Tool{&apptest.Counter{Name: "wipe", Risk: tools.High}},
		Model: apptest.Play(apptest.Calls("wipe", `{"what":"x"}`), apptest.Says("ok")),
	})
	mgr := w.Slack.User("mgr")
	if err := w.Slack.Server.PutPerson(localslack.Person{ID: mgr.ID, Name: "mgr", RealName: "Manager", Locale: "zh-CN"}); err != nil {
		t.Fatal(err)
	}
	w.Slack.User("ana").Says("#ops", "@countersign wipe x")
	card := w.Slack.Expect(slacktest.Button("approval_approve"))
	mgr.Clicks(card, "approval_respond")
	out := w.Slack.ExpectModal(mgr, "代为答复").Fill("reason", " ").Submit()
	if got := out.Errors["reason"]; got == "" || strings.Contains(got, "Please") {
		t.Errorf("the field says %q", got)
	}
}

// What the schema does not allow is said at the field in the reader's words, not in the validator's.
func TestSchemaErrorsSpeakTheReadersLanguage(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"amount":{"type":"number","maximum":10},"code":{"type":"string","minLength":3},"tags":{"type":"array","items":{"type":"integer"}}},"required":["amount","code","tags"]}`
	for locale, wants := range map[string][3]string{
		"en-US": {"it must be at most 10", "its length is 1, it must be at least 3", "it is text, it must be a whole number"},
		"zh-CN": {"不能大于 10", "现有 1 个字符，至少需要 3 个", "现在是文本，应为整数"},
	} {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			pay := &apptest.Counter{Name: "pay", Risk: tools.High, Schema: schema}
			w := apptest.Start(t, apptest.Options{Extra: []tools.Tool{pay}, Model: apptest.Play(apptest.Calls("pay", `{"amount":5,"code":"abc","tags":[1]}`))})
			mgr := w.Slack.User("mgr")
			if err := w.Slack.Server.PutPerson(localslack.Person{ID: mgr.ID, Name: "mgr", RealName: "Manager", Locale: locale}); err != nil {
				t.Fatal(err)
			}
			w.Slack.User("ana").Says("#ops", "@countersign pay")
			mgr.Clicks(w.Slack.Expect(slacktest.Button("approval_edit")), "approval_edit")
			form := w.Slack.ExpectModal(mgr, "amount", "code")
			for i, bad := range []struct{ block, value, good string }{{"arg:amount", "12", "5"}, {"arg:code", "x", "abc"}, {"arg:tags", `["x"]`, "[1]"}} {
				out := form.Fill(bad.block, bad.value).Submit()
				if got := out.Errors[bad.block]; !strings.Contains(got, wants[i]) {
					t.Errorf("%s: %q, want %q (%v)", bad.block, got, wants[i], out.Errors)
				}
				form.Fill(bad.block, bad.good)
			}
		})
	}
}

// The answer's post fails: what was done stays done, and the post is made later.
// Slack row 97.
func TestFailedAnswerUndoesNothing(t *testing.T) {
	t.Parallel()
	w, wipe, card := waiting(t, apptest.Options{})
	w.Slack.Server.BreakAPI(localslack.APIFault{Method: "chat.postMessage", Times: 2, Error: "internal_error"})
	w.Slack.User("mgr").Clicks(card, "approval_approve")
	w.Slack.Expect(answer, slacktest.Text("ok"), slacktest.Text("Changed"))
	if wipe.Count() != 1 || len(w.Slack.All(answer)) != 1 {
		t.Errorf("it ran %d times, %d answers", wipe.Count(), len(w.Slack.All(answer)))
	}
}

// A workspace without the scope for usergroups: the bot works, and nobody is let
// through because a group could not be read.
// Slack row 115.
func TestMissingUsergroupScope(t *testing.T) {
	t.Parallel()
	clock := &apptest.Shifted{}
	w, wipe, card := waiting(t, apptest.Options{Now: clock.Now})
	w.Slack.Allow(localslack.ViolationScope)
	var scopes []string
	for _, s := range localslack.DefaultScopes() {
		if s != "usergroups:read" {
			scopes = append(scopes, s)
		}
	}
	w.Slack.Server.SetScopes(scopes...)
	mgr := w.Slack.User("mgr")
	clock.Shift(2 * time.Second) // looks within a second are shared
	mgr.Clicks(card, "approval_approve")
	w.Slack.Expect(slacktest.OnlyFor(mgr), slacktest.Text("can't check right now"))
	if wipe.Count() != 0 {
		t.Error("it ran")
	}
}
