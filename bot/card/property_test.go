package card_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/bot/card"
	"countersign/bot/slacktext"
	"countersign/localslack/blockkit"
	"countersign/tools"
)

// hostile draws a text that somebody may have made to break or forge something.
func hostile() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.String(),
		rapid.SampledFrom([]string{
			"", " ", "\n", "<!channel>", "<@UANA>", "&<>&<>", "*bold* _it_ `code` ~x~", "```\nApproved by <@UBEN>\n```", "> quoted", "\u202egnp.exe", "раypal.example",
			"张三的余额", "שלום", "👩‍👩‍👧‍👦🇩🇪👍🏽", "a\u0000b", "\xff\xfe", "refused:unknown", "error:quota: x\n• y", "xoxb-123456789012-abcdef", "https://evil.example/?q=1", "⟨…⟩", "⟨×9 space⟩",
		}),
		rapid.Map(rapid.SampledFrom([]string{"\n", "<", "&", "x", "张", "👍", " ", "\u200b", "é", "word "}), func(s string) string { return strings.Repeat(s, 5000/len(s)) }),
		rapid.Map(rapid.IntRange(1, 400), func(n int) string { return strings.Repeat("line\n", n) }),
	)
}

// object draws arguments: a few of any kind, or very many.
func object() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		args := map[string]any{}
		if rapid.IntRange(0, 60).Draw(t, "huge") == 0 {
			for i := range 3000 {
				args[fmt.Sprintf("key%d", i)] = i
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "arguments") {
			args[rapid.OneOf(rapid.SampledFrom([]string{"order_id", "amount", "a#2", "password"}), hostile()).Draw(t, "name")] = value(t)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := tools.Canonical(raw)
		if err != nil {
			t.Skip("not canonical")
		}
		return canonical
	})
}

func value(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Map(hostile(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(n float64) any { return n }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(hostile(), 0, 4), func(s []string) any { return s }),
		rapid.Map(hostile(), func(s string) any { return map[string]any{"nested": s, "null": nil} }),
	).Draw(t, "value")
}

// anyCase draws an approval in any state, with hostile words everywhere.
func anyCase(tb testing.TB, t *rapid.T) *decisions.Case {
	words := hostile()
	c := opened(tb, rapid.OneOf(rapid.SampledFrom([]string{"refund", "shop_execute"}), words).Draw(t, "tool"), string(object().Draw(t, "args")), func(o *approvals.Opening) {
		o.Needs.Approvers = rapid.SliceOfN(words, 0, 5).Draw(t, "roles")
		o.Needs.Quorum = rapid.IntRange(0, 5).Draw(t, "quorum")
		o.Preview = &tools.Preview{Summary: words.Draw(t, "summary"), Detail: words.Draw(t, "detail"), Untried: words.Draw(t, "untried")}
		o.Why = words.Draw(t, "why")
	})
	if rapid.Bool().Draw(t, "edited") {
		edited(tb, c, string(object().Draw(t, "after")), words.Draw(t, "reason"))
	}
	for range rapid.IntRange(0, 15).Draw(t, "decisions") {
		c.Approval.Decisions = append(c.Approval.Decisions, approvals.Decision{
			Verdict: rapid.SampledFrom([]approvals.Verdict{approvals.Approve, approvals.Reject, approvals.Respond, approvals.Edit, approvals.Expire}).Draw(t, "verdict"),
			By:      policy.Actor{User: rapid.OneOf(rapid.Just("UBEN"), words).Draw(t, "by")}, Reason: words.Draw(t, "said"), At: at(time.Minute), Revision: c.Approval.Revision,
		})
	}
	c.Approval.State = rapid.SampledFrom(approvals.Machine.States()).Draw(t, "state")
	c.Step.State = rapid.SampledFrom(agent.StepMachine.States()).Draw(t, "step")
	c.Step.Thought, c.Step.Summary, c.Run.Request = words.Draw(t, "thought"), words.Draw(t, "result"), words.Draw(t, "request")
	return c
}

// anyWork draws a run in any state, with hostile words everywhere.
func anyWork(t *rapid.T) *agent.Work {
	words := hostile()
	w := &agent.Work{Run: run(words.Draw(t, "request")), Approvals: map[string]*approvals.Approval{}}
	w.Run.State = rapid.SampledFrom(agent.RunMachine.States()).Draw(t, "state")
	w.Run.Closing = rapid.SampledFrom([]agent.Halt{"", agent.HaltLoop, agent.HaltTime, agent.HaltTokens}).Draw(t, "closing")
	w.Run.Answer = words.Draw(t, "answer")
	for range rapid.IntRange(0, 25).Draw(t, "plan") {
		w.Run.Plan = append(w.Run.Plan, agent.PlanItem{Title: words.Draw(t, "item"), Status: rapid.SampledFrom([]string{"pending", "complete", "what?"}).Draw(t, "status")})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "steps") {
		w.Steps = append(w.Steps, step(i+1, rapid.OneOf(rapid.SampledFrom([]string{"query_sql", "shop_execute"}), words).Draw(t, "tool"), rapid.SampledFrom(agent.StepMachine.States()).Draw(t, "step"),
			func(s *agent.Step) {
				s.Thought, s.Summary, s.Effect, s.Question = words.Draw(t, "thought"), words.Draw(t, "result"), words.Draw(t, "effect"), rapid.SampledFrom([]string{"", "why? <!here>"}).Draw(t, "question")
				s.Executed, s.Effects = object().Draw(t, "args"), rapid.Bool().Draw(t, "effects")
			}))
	}
	return w
}

// live are Slack's control sequences that our own words may hold: people, channels and instants.
var live = regexp.MustCompile(`<(@[UW][A-Za-z0-9_]+|#[A-Z0-9_]+|!date\^[0-9]+\^\{date_short_pretty\} \{time\}\|[0-9: -]+UTC)>`)

// ours fails when anything but our own control sequences is live in a message:
// people of the rows, channels, instants.
func ours(t *rapid.T, raw json.RawMessage, people ...string) {
	for _, s := range blockkit.Interpreted(raw) {
		for _, found := range live.FindAllStringSubmatch(s, -1) {
			if user, ok := strings.CutPrefix(found[1], "@"); ok && !slices.Contains(people, user) {
				t.Fatalf("somebody is mentioned who is not in the rows: %s in %q", found[0], s)
			}
		}
		if rest := live.ReplaceAllString(s, ""); strings.ContainsAny(rest, "<>") {
			t.Fatalf("something else is live: %q", rest)
		}
	}
}

func check(t *rapid.T, m card.Message) {
	if err := card.Check(m); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(m.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	if p := blockkit.Check(raw, blockkit.Message); p != nil {
		t.Fatal(p)
	}
	ours(t, raw, "UANA", "UBEN", "UCARLA")
	if strings.ContainsAny(live.ReplaceAllString(m.Text, ""), "<>") {
		t.Fatalf("the text for notifications is live: %q", m.Text)
	}
}

func checkModal(t *rapid.T, v slack.ModalViewRequest) {
	if err := card.CheckModal(v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if p := blockkit.CheckView(raw, blockkit.Modal); p != nil {
		t.Fatal(p)
	}
	ours(t, raw, "UANA", "UBEN", "UCARLA")
}

func language(t *rapid.T) string { return rapid.SampledFrom([]string{"en", "zh", ""}).Draw(t, "lang") }

func TestEveryCardIsWithinSlacksLimits(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	rapid.Check(t, func(rt *rapid.T) {
		c, lang := anyCase(t, rt), language(rt)
		w := where(lang)
		w.Read, w.OnlyAsker = rapid.SliceOfN(hostile(), 0, 12).Draw(rt, "read"), rapid.Bool().Draw(rt, "only")
		w.Gone = make([]policy.Actor, rapid.IntRange(0, 40).Draw(rt, "gone"))
		m := r.Approval(c, w)
		check(rt, m)
		raw, err := json.Marshal(m.Blocks)
		if err != nil {
			rt.Fatal(err)
		}
		pressable := strings.Contains(string(raw), `"decide"`)
		if buttons := strings.Contains(string(raw), `"actions"`); buttons != (pressable || c.Approval.State == approvals.Expired) {
			rt.Fatalf("a card that is %s has buttons: %v", c.Approval.State, buttons)
		}
		if pressable != (c.Approval.State == approvals.Pending) {
			rt.Fatalf("a card that is %s has buttons: %v", c.Approval.State, pressable)
		}
		if pressable && r.Hides(c) == strings.Contains(string(raw), `"approval_approve"`) {
			rt.Fatalf("Hides is %v and Approve is offered: %v", r.Hides(c), !r.Hides(c))
		}
		check(rt, card.Message{Text: r.Refusal(lang, "settled", rapid.String().Draw(rt, "detail"), c), Blocks: m.Blocks})
	})
}

func TestEveryFormIsWithinSlacksLimits(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	rapid.Check(t, func(rt *rapid.T) {
		c, lang := anyCase(t, rt), language(rt)
		if v, fits := r.ShowModal(c, lang); fits {
			checkModal(rt, v)
		}
		if v, can := r.EditModal(c, lang); can {
			checkModal(rt, v)
		}
		checkModal(rt, r.RejectModal(c, lang))
		checkModal(rt, r.RespondModal(c, lang))
		v := r.SettledModal(c, rapid.MapOfN(hostile(), hostile(), 0, 8).Draw(rt, "typed"), lang)
		checkModal(rt, v)
		if raw := marshal(t, v); len(raw) > 18_000 {
			rt.Fatalf("%d bytes do not fit an acknowledgement", len(raw))
		}
	})
}

func TestEveryMessageOfARunIsWithinSlacksLimits(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	rapid.Check(t, func(rt *rapid.T) {
		w, at := anyWork(rt), where(language(rt))
		check(rt, r.Progress(w, at))
		check(rt, r.Answer(w, at))
		check(rt, r.Status(w, at))
		check(rt, r.Question(w, rapid.IntRange(0, len(w.Steps)).Draw(rt, "asks"), at))
	})
}

// Different arguments must never look the same on a card from which they can be approved.
func TestDifferentArgumentsLookDifferent(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	r.Masker = nil // what is masked cannot be approved from the card
	rapid.Check(t, func(rt *rapid.T) {
		a, b := near(rt)
		one, two := opened(t, "x", string(a), preview(nil)), opened(t, "x", string(b), preview(nil))
		if string(a) == string(b) || r.Hides(one) || r.Hides(two) {
			return
		}
		if shown(t, r.Approval(one, where("en"))) == shown(t, r.Approval(two, where("en"))) {
			rt.Fatalf("these look the same:\n%s\n%s", a, b)
		}
	})
}

// near draws two objects that are alike.
func near(t *rapid.T) (a, b json.RawMessage) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab: \"\\\n⟨⟩1,{}[]null\u202e")), 0, 30, -1)
	object := func(label string) json.RawMessage {
		args := map[string]any{}
		for range rapid.IntRange(1, 2).Draw(t, label) {
			v := rapid.OneOf(
				rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.IntRange(0, 2), func(n int) any { return n }),
				rapid.SampledFrom([]any{nil, true, "true", "null", "1", []any{}, map[string]any{}, "[]", "{}"}), rapid.Map(text, func(s string) any { return []any{s} }),
			).Draw(t, "value")
			args[rapid.OneOf(rapid.SampledFrom([]string{"a", "b"}), text).Draw(t, "name")] = v
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := tools.Canonical(raw)
		if err != nil {
			t.Fatal(err)
		}
		return canonical
	}
	return object("first"), object("second")
}

// shown is what a person can see of a card, without the buttons' values.
func shown(t *testing.T, m card.Message) string {
	t.Helper()
	return strings.Join(blockkit.Texts(marshal(t, m.Blocks)), "\x00")
}

// Every value of an argument stands on the card as it is drawn, or Approve is not there.
func TestEveryArgumentStandsOnTheCard(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := hostile().Draw(rt, "text")
		args, err := tools.Canonical(marshal(t, map[string]string{"first": "1", "text": strings.ToValidUTF8(s, "?"), "zlast": "end"}))
		if err != nil {
			rt.Skip()
		}
		c := opened(t, "post", string(args))
		text := strings.ReplaceAll(shown(t, r.Approval(c, where("en"))), "⟨…⟩\n", "")
		text = strings.ReplaceAll(text, "\x00", "\n")
		if r.Hides(c) {
			return
		}
		want := strings.Trim(slacktext.Draw(strings.ToValidUTF8(s, "?")), "\n")
		for _, piece := range []string{want, `first: "1"`, `zlast: "end"`} {
			if !strings.Contains(text, piece) {
				rt.Fatalf("%q is not on the card:\n%s", piece, text)
			}
		}
	})
}
