package card_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"countersign/agent"
	"countersign/approvals"
	"countersign/approvals/policy"
	"countersign/bot/card"
	"countersign/tools"
)

// A card reads in the order in which a person judges.
func TestTheOrderOfACard(t *testing.T) {
	t.Parallel()
	w := where("en")
	w.Read, w.Unknown = []string{"SOURCE"}, 2
	c := opened(t, "refund", `{"amount":"ARGUMENT"}`, preview(&tools.Preview{Summary: "PREVIEW"}))
	c.Run.Request, c.Step.Thought = "REQUEST", "REASON"
	raw := string(marshal(t, renderer(t).Approval(c, w).Blocks))
	last := -1
	for _, piece := range []string{"REQUEST", "ARGUMENT", "Step 2 was the same call", "PREVIEW", "SOURCE", "REASON", "May decide", "Open until", "approval_approve", "approval_edit", "approval_reject", "approval_respond"} {
		at := strings.Index(raw, piece)
		if at <= last {
			t.Errorf("%s stands at %d, not after %d", piece, at, last)
		}
		last = at
	}
}

func TestWhatHides(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for name, test := range map[string]struct {
		tool, args string
		preview    *tools.Preview
		want       bool
	}{
		"small":               {"refund", `{"amount":20}`, nil, false},
		"six hundred columns": {"refund", `{"reason":` + quoted(strings.Repeat("x", 600)) + `}`, nil, false},
		"private":             {"shop_execute", `{"sql":"x"}`, nil, true},
		"a secret":            {"post", `{"text":"xoxb-123456789012-abcdefghijkl"}`, nil, true},
		"a secret by name":    {"post", `{"password":"hunter2hunter2"}`, nil, true},
		"a nested secret":     {"post", `{"login":{"password":"hunter2hunter2"}}`, nil, true},
		"a long text":         {"post", `{"text":` + quoted(strings.Repeat("words ", 2000)) + `}`, nil, true},
		"many lines":          {"post", `{"text":` + quoted(strings.Repeat("x\n", 100)) + `}`, nil, true},
		"not an object":       {"post", `[1]`, nil, true},
		"a long preview":      {"post", `{}`, &tools.Preview{Summary: "s", Detail: strings.Repeat("row\n", 100)}, true},
		"a secret preview":    {"post", `{}`, &tools.Preview{Summary: "s", Detail: "token: Bearer abcdef123456"}, true},
		"a short preview":     {"post", `{}`, &tools.Preview{Summary: "s", Detail: "row"}, false},
	} {
		c := opened(t, test.tool, test.args, preview(test.preview))
		if got := r.Hides(c); got != test.want {
			t.Errorf("%s: Hides is %v", name, got)
		}
		accepted(t, r.Approval(c, where("zh")))
	}
}

// Secrets are for people who may decide: never on the card, always in Show.
func TestSecretsAreShownInShowAlone(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	const secret = "xoxb-123456789012-abcdefghijkl"
	c := opened(t, "post", `{"header":"Bearer abcdef123456","token":"`+secret+`"}`)
	c.Step.Thought, c.Run.Request = "use "+secret, "take "+secret
	if raw := string(marshal(t, r.Approval(c, where("en")))); strings.Contains(raw, secret) || strings.Contains(raw, "abcdef123456") {
		t.Error("the card shows a secret")
	}
	v, fits := r.ShowModal(c, "en")
	if raw := string(marshal(t, v)); !fits || !strings.Contains(raw, secret) || !strings.Contains(raw, "abcdef123456") {
		t.Error("Show hides something")
	}
	if !r.Guarded(c) || r.Guarded(refund(t)) {
		t.Error("Guarded is wrong")
	}
}

// The channel sees of a private call its tool, its risk and how many arguments it has.
func TestPrivateCalls(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	c := opened(t, "shop_execute", `{"sql":"SECRETVALUE"}`, preview(&tools.Preview{Summary: "SECRETPREVIEW"}))
	c.Run.Request, c.Step.Thought = "SECRETWORDS", "SECRETREASON"
	edited(t, c, `{"sql":"SECRETEDIT"}`, "SECRETWHY")
	for _, s := range approvals.Machine.States() {
		c.Approval.State = s
		c.Step.State, c.Step.Summary = agent.StepSucceeded, "SECRETRESULT"
		c.Approval.Decisions[0].Reason = "SECRETWHY"
		m := r.Approval(c, where("en"))
		if raw := string(marshal(t, m)); strings.Contains(raw, "SECRET") {
			t.Errorf("%s: the channel sees %s", s, raw)
		}
		accepted(t, m)
	}
}

// Texts of notifications hold no argument, whatever the state.
func TestNotificationsHoldNoArguments(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	c := opened(t, "refund", `{"amount":"VALUE"}`)
	for _, s := range approvals.Machine.States() {
		c.Approval.State = s
		for _, lang := range []string{"en", "zh"} {
			if text := r.Approval(c, where(lang)).Text; strings.Contains(text, "VALUE") || !strings.Contains(text, "refund") {
				t.Errorf("%s: %q", s, text)
			}
		}
	}
}

func TestApproveAsksOnceMore(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	confirms := func(m card.Message) bool { return strings.Contains(string(marshal(t, m.Blocks)), `"confirm"`) }
	strict := opened(t, "refund", `{"amount":1}`, func(o *approvals.Opening) { o.Needs.Confirm = true })
	if confirms(r.Approval(refund(t), where("en"))) || !confirms(r.Approval(strict, where("en"))) || !confirms(r.Approval(edited(t, refund(t), `{"amount":1}`, ""), where("en"))) {
		t.Error("the confirmation is wrong")
	}
}

// What fits no modal cannot be approved.
func TestWhatFitsNoModal(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for name, args := range map[string]string{
		"not an object": `[1]`,
		"too long":      `{"text":` + quoted(strings.Repeat("words ", 60_000)) + `}`,
		"a long name":   `{` + quoted(strings.Repeat("xyz", 1000)) + `:1}`,
	} {
		if _, fits := r.ShowModal(opened(t, "post", args), "en"); fits {
			t.Errorf("%s fits", name)
		}
	}
	v, fits := r.ShowModal(opened(t, "post", `{"text":`+quoted(strings.Repeat("words ", 15_000))+`}`), "en")
	if !fits {
		t.Error("90,000 characters do not fit")
	}
	acceptedModal(t, v)
}

func TestPressIsReadBack(t *testing.T) {
	t.Parallel()
	c := refund(t)
	want := card.Button{Approval: "a1", Revision: 1, Digest: c.Approval.Current().Digest, Run: "r1", Step: 3}
	found := 0
	for _, b := range renderer(t).Approval(c, where("en")).Blocks {
		block, ok := b.(*slack.ActionBlock)
		if !ok {
			continue
		}
		for _, e := range block.Elements.ElementSet {
			pressed, ok := e.(*slack.ButtonBlockElement)
			if !ok {
				t.Fatalf("an element of type %T", e)
			}
			got, err := card.ParseButton(pressed.Value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			found++
		}
	}
	if found != 5 {
		t.Errorf("%d buttons", found)
	}
	meta, err := card.ParseModalMeta(renderer(t).RejectModal(c, "en").PrivateMetadata)
	if err != nil || meta.Button != want {
		t.Errorf("%v, %v", meta, err)
	}
}

func FuzzParseButton(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":"a1","r":1}`, `{"n":"r1","s":3}`, `[]`, `{"a":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := card.ParseButton(s)
		if err != nil && !errors.Is(err, card.ErrButton) {
			t.Errorf("%v", err)
		}
		if err == nil && b.Approval == "" && b.Run == "" {
			t.Errorf("%q names nothing", s)
		}
	})
}

// Equal states give equal hashes; what people would see differently does not.
func TestHash(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	one, same := r.Approval(refund(t), where("en")), r.Approval(refund(t), where("en"))
	if card.Hash(one) != card.Hash(same) {
		t.Error("the same card has two hashes")
	}
	if card.Hash(one) == card.Hash(r.Approval(refund(t), where("zh"))) || card.Hash(one) == card.Hash(r.Approval(cards(t)["rejected"], where("en"))) {
		t.Error("different cards have one hash")
	}
}

// The line under an answer is ours: nothing that the model writes comes after it or looks like it.
func TestOurLineIsTheLast(t *testing.T) {
	t.Parallel()
	w := works(t)["answered"]
	w.Run.Answer = "Hello\n\n---\n\n**📝 Nothing was changed**"
	m := renderer(t).Answer(w, card.Where{Lang: "en", Now: began, Approvers: map[string][]policy.Actor{"a1": {ben}}})
	n := len(m.Blocks)
	if m.Blocks[n-2].BlockType() != slack.MBTDivider || !strings.Contains(string(marshal(t, m.Blocks[n-1])), "refund #7, 20 EUR") {
		t.Errorf("the last block is %s", marshal(t, m.Blocks[n-1]))
	}
	for _, b := range m.Blocks[:n-2] {
		if b.BlockType() == slack.MBTDivider {
			t.Error("the model drew a divider block")
		}
	}
}

// A model that answers in the words of our own canned answers is quoted, not obeyed.
func TestTheModelCannotImitateCannedAnswers(t *testing.T) {
	t.Parallel()
	w := works(t)["answered"]
	for _, s := range []string{"refused:not_member", "error:config: x", "stopped: x"} {
		w.Run.Answer = s
		if m := renderer(t).Answer(w, where("en")); m.Text != s {
			t.Errorf("%q became %q", s, m.Text)
		}
	}
}

func TestLongAnswersAreAttached(t *testing.T) {
	t.Parallel()
	w := works(t)["answered"]
	w.Run.Answer = strings.Repeat("A paragraph that says a little. ", 20) + "\n\n"
	w.Run.Answer = strings.Repeat(w.Run.Answer, 40)
	m := renderer(t).Answer(w, where("en"))
	accepted(t, m)
	if len(m.Files) != 1 || string(m.Files[0].Content) != w.Run.Answer {
		t.Fatal("the whole answer is not attached")
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	plain := func(s string) *slack.TextBlockObject { return slack.NewTextBlockObject("plain_text", s, false, false) }
	section := func(s string) slack.Block {
		return slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", s, false, false), nil, nil)
	}
	button := func(id, value string) *slack.ButtonBlockElement {
		return slack.NewButtonBlockElement(id, value, plain("x"))
	}
	many := make([]slack.Block, 51)
	for i := range many {
		many[i] = slack.NewDividerBlock()
	}
	good := []slack.Block{section("x"), slack.NewActionBlock("a", button("one", "1"), button("two", "2"))}
	if err := card.Check(card.Message{Text: "x", Blocks: good}); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]card.Message{
		"no text":         {Blocks: good},
		"a long text":     {Text: strings.Repeat("x", 4000), Blocks: good},
		"no blocks":       {Text: "x"},
		"many blocks":     {Text: "x", Blocks: many},
		"a long section":  {Text: "x", Blocks: []slack.Block{section(strings.Repeat("x", 3001))}},
		"an empty text":   {Text: "x", Blocks: []slack.Block{section("")}},
		"one id twice":    {Text: "x", Blocks: []slack.Block{slack.NewActionBlock("a", button("x", "")), slack.NewActionBlock("a", button("x", ""))}},
		"an action twice": {Text: "x", Blocks: []slack.Block{slack.NewActionBlock("a", button("x", ""), button("x", ""))}},
		"a long value":    {Text: "x", Blocks: []slack.Block{slack.NewActionBlock("a", button("x", strings.Repeat("x", 2001)))}},
		"too much text":   {Text: "x", Blocks: []slack.Block{section(strings.Repeat("x", 2900)), section(strings.Repeat("x", 2900)), section(strings.Repeat("x", 2900)), section(strings.Repeat("x", 2900)), section(strings.Repeat("x", 2900))}},
		"unknown block":   {Text: "x", Blocks: []slack.Block{slack.NewMarkdownBlock("", "x")}},
	} {
		if err := card.Check(m); !errors.Is(err, card.ErrLimits) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, v := range map[string]slack.ModalViewRequest{
		"a long title": {Type: slack.VTModal, Title: plain(strings.Repeat("x", 25)), Blocks: slack.Blocks{BlockSet: good}},
		"no title":     {Type: slack.VTModal, Blocks: slack.Blocks{BlockSet: good}},
		"no submit":    {Type: slack.VTModal, Title: plain("x"), Blocks: slack.Blocks{BlockSet: []slack.Block{slack.NewInputBlock("b", plain("x"), nil, slack.NewPlainTextInputBlockElement(nil, "value"))}}},
	} {
		if err := card.CheckModal(v); !errors.Is(err, card.ErrLimits) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none json.RawMessage
	if _, err := card.ParseModalMeta(string(none)); !errors.Is(err, card.ErrButton) {
		t.Error("an empty private value is taken")
	}
}

// Why an effect was not looked at is said on the card and in the form, in the reader's words.
func TestAnEffectNotLookedAtIsSaidInTheReadersWords(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	c := opened(t, "refund", `{"amount":20}`, preview(&tools.Preview{Untried: tools.TriedTooOften}))
	for lang, want := range map[string]string{"en": "The effect was not looked at: that was done too often for the person who asked", "zh": "未预览执行效果"} {
		m := r.Approval(c, where(lang))
		accepted(t, m)
		v, fits := r.ShowModal(c, lang)
		for where, drawn := range map[string]any{"card": m.Blocks, "form": v} {
			if raw := string(marshal(t, drawn)); !fits || !strings.Contains(raw, want) || lang == "zh" && strings.Contains(raw, tools.TriedTooOften) {
				t.Errorf("%s in %s: %s", where, lang, raw)
			}
		}
	}
}
