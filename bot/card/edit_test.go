package card_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"pgregory.net/rapid"

	"countersign/approvals/decisions"
	"countersign/tools"
)

type state = map[string]map[string]slack.BlockAction

// untouched is the state of a form as Slack sends it when nothing was typed.
func untouched(t testing.TB, v slack.ModalViewRequest) state {
	t.Helper()
	values := state{}
	for _, b := range v.Blocks.BlockSet {
		in, ok := b.(*slack.InputBlock)
		if !ok {
			continue
		}
		var a slack.BlockAction
		switch e := in.Element.(type) {
		case *slack.PlainTextInputBlockElement:
			a.Value = e.InitialValue
		case *slack.NumberInputBlockElement:
			a.Value = e.InitialValue
		case *slack.DatePickerBlockElement:
			a.SelectedDate = e.InitialDate
		case *slack.SelectBlockElement:
			if e.InitialOption != nil {
				a.SelectedOption = *e.InitialOption
			}
		default:
			t.Fatalf("an input of type %T", e)
		}
		values[in.BlockID] = map[string]slack.BlockAction{"value": a}
	}
	return values
}

func form(t testing.TB, c *decisions.Case) state {
	t.Helper()
	v, can := renderer(t).EditModal(c, "en")
	if !can {
		t.Fatal("the call cannot be edited")
	}
	return untouched(t, v)
}

func typedText(s string) map[string]slack.BlockAction {
	return map[string]slack.BlockAction{"value": {Value: s}}
}

func option(s string) map[string]slack.BlockAction {
	return map[string]slack.BlockAction{"value": {SelectedOption: slack.OptionBlockObject{Value: s}}}
}

// A form that nobody touched gives the arguments back exactly.
func TestAnUntouchedFormChangesNothing(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	rapid.Check(t, func(rt *rapid.T) {
		args := object().Draw(rt, "args")
		c := opened(t, rapid.SampledFrom([]string{"refund", "unknown"}).Draw(rt, "tool"), string(args))
		v, can := r.EditModal(c, "en")
		if !can {
			return
		}
		raw, _, errs := r.Typed(c, untouched(t, v), "en")
		if len(errs) > 0 {
			rt.Fatalf("%v", errs)
		}
		back, err := tools.Canonical(json.RawMessage(raw))
		if err != nil {
			rt.Fatal(err)
		}
		if string(back) != string(args) {
			rt.Fatalf("the form changed the arguments:\n%s\n%s", args, back)
		}
	})
}

func TestTyped(t *testing.T) {
	t.Parallel()
	const before = `{"amount":20,"notify":true,"order_id":"1042","tags":["vip"]}`
	for name, test := range map[string]struct {
		change func(state)
		want   string
		errs   []string
	}{
		"nothing":          {func(state) {}, before, nil},
		"a number exactly": {func(s state) { s["arg:amount"] = typedText("0.10000000000000000001") }, `{"amount":0.10000000000000000001,"notify":true,"order_id":"1042","tags":["vip"]}`, nil},
		"text stays text":  {func(s state) { s["arg:order_id"] = typedText("7") }, `{"amount":20,"notify":true,"order_id":"7","tags":["vip"]}`, nil},
		"a choice":         {func(s state) { s["arg:notify"], s["arg:speed"] = option("false"), option(`"fast"`) }, `{"amount":20,"notify":false,"order_id":"1042","speed":"fast","tags":["vip"]}`, nil},
		"a numeric choice": {func(s state) { s["arg:level"] = option("2") }, `{"amount":20,"level":2,"notify":true,"order_id":"1042","tags":["vip"]}`, nil},
		"left out":         {func(s state) { s["arg:notify"] = option("-") }, `{"amount":20,"order_id":"1042","tags":["vip"]}`, nil},
		"a date": {func(s state) {
			s["arg:due"] = map[string]slack.BlockAction{"value": {SelectedDate: "2026-12-24"}}
		}, `{"amount":20,"due":"2026-12-24","notify":true,"order_id":"1042","tags":["vip"]}`, nil},
		"JSON":            {func(s state) { s["arg:tags"] = typedText("[\n \"a\", \"b\"\n]") }, `{"amount":20,"notify":true,"order_id":"1042","tags":["a","b"]}`, nil},
		"emptied text":    {func(s state) { s["arg:order_id"] = typedText("") }, `{"amount":20,"notify":true,"order_id":"","tags":["vip"]}`, nil},
		"bad number":      {func(s state) { s["arg:amount"] = typedText("ten") }, "", []string{"arg:amount"}},
		"quoted number":   {func(s state) { s["arg:amount"] = typedText(`"10"`) }, "", []string{"arg:amount"}},
		"bad JSON":        {func(s state) { s["arg:tags"] = typedText("[a") }, "", []string{"arg:tags"}},
		"forged choice":   {func(s state) { s["arg:speed"] = option(`"warp"`) }, "", []string{"arg:speed"}},
		"forged argument": {func(s state) { s["arg:admin"] = typedText("true") }, before, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := opened(t, "refund", before)
			values := form(t, c)
			test.change(values)
			raw, typed, errs := renderer(t).Typed(c, values, "en")
			if diff := cmp.Diff(test.errs, keys(errs)); diff != "" {
				t.Fatalf("errors (-want +got):\n%s", diff)
			}
			if len(typed) == 0 {
				t.Error("nothing is kept of what was typed")
			}
			if len(test.errs) > 0 {
				return
			}
			got, err := tools.Canonical(json.RawMessage(raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// A text that is longer than one input holds is edited in several and joined again.
func TestLongTextHasSeveralInputs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Ein langer Satz, 长句子。 ", 400)
	c := opened(t, "unknown", `{"text":`+quoted(long)+`}`)
	values := form(t, c)
	if len(values) < 4 || values["arg:text#2"] == nil {
		t.Fatalf("%d inputs", len(values))
	}
	raw, _, errs := renderer(t).Typed(c, values, "en")
	var got struct{ Text string }
	if err := json.Unmarshal([]byte(raw), &got); err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	if got.Text != long {
		t.Error("the text came back changed")
	}
}

func TestWhatAFormCannotHold(t *testing.T) {
	t.Parallel()
	many := map[string]int{}
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		many[string(a)], many[string(a)+"2"] = 1, 2
	}
	for name, args := range map[string]string{
		"control characters":     `{"text":"a\u0000b"}`,
		"carriage returns":       `{"text":"a\r\nb"}`,
		"too many arguments":     string(marshal(t, many)),
		"a name like a part":     `{"text":"a","text#2":"b"}`,
		"very long text":         `{"text":` + quoted(strings.Repeat("word ", 10_000)) + `}`,
		"no arguments":           `{}`,
		"a name without letters": `{"":"x"}`,
		"an endless name":        `{` + quoted(strings.Repeat("x", 300)) + `:"x"}`,
	} {
		if _, can := renderer(t).EditModal(opened(t, "unknown", args), "en"); can {
			t.Errorf("%s can be edited", name)
		}
	}
}

// A number that a browser could round is edited as JSON text, digit by digit.
func TestLongNumbersAreNotRounded(t *testing.T) {
	t.Parallel()
	c := opened(t, "refund", `{"amount":12345678901234567890.123,"order_id":"1","tags":[]}`)
	v, can := renderer(t).EditModal(c, "en")
	if !can {
		t.Fatal("cannot be edited")
	}
	for _, b := range v.Blocks.BlockSet {
		if in, ok := b.(*slack.InputBlock); ok && in.BlockID == "arg:amount" {
			if in.Element.ElementType() != slack.METPlainTextInput {
				t.Errorf("it is edited in a %s", in.Element.ElementType())
			}
		}
	}
}
