package tools_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/tools"
)

// refundSchema has one argument of each kind that models get wrong.
const refundSchema = `{"type":"object","properties":{
	"order_id":{"type":"string"},
	"amount":{"type":"number","exclusiveMinimum":0},
	"copies":{"type":"integer","minimum":1,"maximum":9,"default":1},
	"urgent":{"type":"boolean"},
	"currency":{"type":"string","enum":["EUR","USD"]},
	"tags":{"type":"array","items":{"type":"string"}},
	"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"to":{"type":"object","properties":{"iban":{"type":"string"},"fast":{"type":"boolean","default":false}},"required":["iban"]}
},"required":["order_id","amount"]}`

func compile(tb testing.TB, name, schema string) *tools.Schema {
	tb.Helper()
	s, err := tools.Compile(tools.Spec{Name: name, Parameters: []byte(schema)})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	s := compile(t, "refund", refundSchema)
	for name, c := range map[string]struct{ raw, want string }{
		"plain":                 {`{"order_id":"a","amount":1}`, `{"amount":1,"copies":1,"order_id":"a"}`},
		"code fence":            {"```json\n{\"order_id\":\"a\",\"amount\":1}\n```", `{"amount":1,"copies":1,"order_id":"a"}`},
		"fence on one line":     {"```{\"order_id\":\"a\",\"amount\":1}```", `{"amount":1,"copies":1,"order_id":"a"}`},
		"quoted once more":      {`"{\"order_id\":\"a\",\"amount\":1}"`, `{"amount":1,"copies":1,"order_id":"a"}`},
		"trailing commas":       {`{"order_id":"a","tags":["x",],"amount":1, }`, `{"amount":1,"copies":1,"order_id":"a","tags":["x"]}`},
		"space around":          {" \n\ufeff{\"order_id\":\"a\",\"amount\":1}\n\n", `{"amount":1,"copies":1,"order_id":"a"}`},
		"raw newline in string": {"{\"order_id\":\"a\nb\tc\",\"amount\":1}", `{"amount":1,"copies":1,"order_id":"a\nb\tc"}`},
		"comma in a string":     {`{"order_id":"a,]",  "amount":1,}`, `{"amount":1,"copies":1,"order_id":"a,]"}`},
		"string to number":      {`{"order_id":"a","amount":"10.50"}`, `{"amount":10.5,"copies":1,"order_id":"a"}`},
		"integer to string":     {`{"order_id":7,"amount":1}`, `{"amount":1,"copies":1,"order_id":"7"}`},
		"integral to integer":   {`{"order_id":"a","amount":1,"copies":5.0}`, `{"amount":1,"copies":5,"order_id":"a"}`},
		"string to integer":     {`{"order_id":"a","amount":1,"copies":"5"}`, `{"amount":1,"copies":5,"order_id":"a"}`},
		"string to boolean":     {`{"order_id":"a","amount":1,"urgent":"True"}`, `{"amount":1,"copies":1,"order_id":"a","urgent":true}`},
		"enum in another case":  {`{"order_id":"a","amount":1,"currency":"eur"}`, `{"amount":1,"copies":1,"currency":"EUR","order_id":"a"}`},
		"array as text":         {`{"order_id":"a","amount":1,"tags":"[\"x\",5]"}`, `{"amount":1,"copies":1,"order_id":"a","tags":["x","5"]}`},
		"object as text":        {`{"order_id":"a","amount":1,"to":"{\"iban\":\"i\"}"}`, `{"amount":1,"copies":1,"order_id":"a","to":{"fast":false,"iban":"i"}}`},
		"null is absence":       {`{"order_id":"a","amount":1,"currency":null}`, `{"amount":1,"copies":1,"order_id":"a"}`},
		"null where allowed":    {`{"order_id":"a","amount":1,"note":null}`, `{"amount":1,"copies":1,"note":null,"order_id":"a"}`},
		"branch":                {`{"order_id":"a","amount":1,"note":12}`, `{"amount":1,"copies":1,"note":"12","order_id":"a"}`},
		"big number":            {`{"order_id":"a","amount":123456789012345678901234567890.1234567890123456789}`, `{"amount":123456789012345678901234567890.1234567890123456789,"copies":1,"order_id":"a"}`},
		"exponent":              {`{"order_id":"a","amount":1.5E3}`, `{"amount":1500,"copies":1,"order_id":"a"}`},
		"text is not touched":   {`{"order_id":"e\u0301 é <&> \u2028","amount":1}`, "{\"amount\":1,\"copies\":1,\"order_id\":\"e\u0301 é <&> \u2028\"}"},
		"text that looks empty": {`{"order_id":"","amount":1}`, `{"amount":1,"copies":1,"order_id":""}`},
		"surrogate pair":        {`{"order_id":"\ud83d\ude00","amount":1}`, `{"amount":1,"copies":1,"order_id":"😀"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := tools.Parse(s, c.raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(args.Canonical); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	s := compile(t, "refund", refundSchema)
	for name, c := range map[string]struct{ raw, pointer, says string }{
		"cut off":                  {`{"order_id":`, "", "cut off"},
		"cut in a string":          {`{"order_id":"a","amount":1,"note":"hel`, "", "cut off"},
		"cut after a comma":        {`{"order_id":"a","amount":1,`, "", "cut off"},
		"cut in a fence":           {"```json\n{\"order_id\":\"a\",\"amount\":1}", "", "invalid character"},
		"cut in a quoted object":   {`"{\"order_id\":\"a\"`, "", "cut off"},
		"quoted object cut inside": {`"{\"order_id\":\"a\""`, "", "one JSON object"},
		"quoted twice":             {`"\"{\\\"order_id\\\":\\\"a\\\",\\\"amount\\\":1}\""`, "", "one JSON object"},
		"null":                     {`null`, "", "no arguments were given. Required: order_id, amount"},
		"nothing":                  {``, "", "no arguments were given"},
		"empty string":             {`""`, "", "no arguments were given"},
		"quoted null":              {`"null"`, "", "no arguments were given"},
		"array":                    {`[]`, "", "one JSON object"},
		"string":                   {`"x"`, "", "one JSON object"},
		"number":                   {`7`, "", "one JSON object"},
		"property twice":           {`{"order_id":"a","amount":1,"amount":1000}`, "/amount", "given twice"},
		"twice below":              {`{"order_id":"a","amount":1,"to":{"iban":"a","iban":"b"}}`, "/to/iban", "given twice"},
		"twice in repaired text":   {`{"order_id":"a","amount":1,"amount":2,}`, "/amount", "given twice"},
		"twice by an escape":       {`{"order_id":"a","amount":1,"\u0061mount":2}`, "/amount", "given twice"},
		"two objects":              {`{"order_id":"a","amount":1}{"order_id":"b","amount":2}`, "", "after top-level value"},
		"only commas":              {`{"order_id":"a","amount":1,"tags":[,]}`, "", "invalid character"},
		"invalid UTF-8":            {"{\"order_id\":\"\xff\",\"amount\":1}", "", "UTF-8"},
		"half a pair":              {`{"order_id":"\ud800","amount":1}`, "", "no character"},
		"halves in wrong order":    {`{"order_id":"\ude00\ud83d","amount":1}`, "", "no character"},
		"huge exponent":            {`{"order_id":"a","amount":1e999999999}`, "", "longer than 400 digits"},
		"too deep":                 {`{"order_id":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`, "", "deeper than"},
		"too long":                 {`{"order_id":"` + strings.Repeat("a", 1<<20) + `"}`, "", "longer than 1048576 bytes"},
		"missing":                  {`{"amount":1}`, "", "missing: order_id"},
		"unknown":                  {`{"order_id":"a","amount":1,"curency":"EUR"}`, "/curency", "did you mean currency? Allowed: amount, copies, currency"},
		"unknown below":            {`{"order_id":"a","amount":1,"to":{"iban":"a","fats":true}}`, "/to/fats", "did you mean fast?"},
		"pointer is escaped":       {`{"order_id":"a","amount":1,"a/b~c":1}`, "/a~1b~0c", "no property of this name"},
		"bound":                    {`{"order_id":"a","amount":0}`, "/amount", "more than 0"},
		"range":                    {`{"order_id":"a","amount":1,"copies":10}`, "/copies", "at most 9"},
		"enum":                     {`{"order_id":"a","amount":1,"currency":"GBP"}`, "/currency", `it is "GBP", allowed are "EUR", "USD"`},
		"fraction for an integer":  {`{"order_id":"a","amount":1,"copies":1.5}`, "/copies", "must be integer"},
		"leading zero":             {`{"order_id":"a","amount":1,"copies":"05"}`, "/copies", "must be integer"},
		"thousands":                {`{"order_id":"a","amount":"1,000"}`, "/amount", "must be number"},
		"fraction for a string":    {`{"order_id":1.50,"amount":1}`, "/order_id", "must be string"},
		"exponent for a string":    {`{"order_id":1e3,"amount":1}`, "/order_id", "must be string"},
		"one for a boolean":        {`{"order_id":"a","amount":1,"urgent":1}`, "/urgent", "must be boolean"},
		"null where required":      {`{"order_id":null,"amount":1}`, "/order_id", "must be string"},
		"scalar for an array":      {`{"order_id":"a","amount":1,"tags":"x"}`, "/tags", "must be array"},
		"in an array":              {`{"order_id":"a","amount":1,"tags":["x",{}]}`, "/tags/1", "must be string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := tools.Parse(s, c.raw)
			failure := (*tools.Failure)(nil)
			if !errors.As(err, &failure) {
				t.Fatalf("got %s, %v; want a Failure", args.Canonical, err)
			}
			if failure.Code != tools.InvalidArguments || failure.Pointer != c.pointer {
				t.Errorf("code %q at %q, want %q at %q", failure.Code, failure.Pointer, tools.InvalidArguments, c.pointer)
			}
			if !strings.Contains(failure.Message, c.says) || !strings.Contains(failure.Message, "refund") {
				t.Errorf("the message does not say %q and name the tool:\n%s", c.says, failure.Message)
			}
			if n := utf8.RuneCountInString(failure.Message); n > 800 {
				t.Errorf("the message has %d characters", n)
			}
		})
	}
}

// Several mistakes are told at once, in an order that does not change.
func TestParseListsProblems(t *testing.T) {
	t.Parallel()
	s := compile(t, "refund", refundSchema)
	const want = `The arguments of refund do not fit, and nothing was run:
- arguments: missing: order_id
- /amount: it must be more than 0
- /copies: it is number, it must be integer
- /ordr_id: there is no property of this name; did you mean order_id? Allowed: amount, copies, currency, note, order_id, tags, to, urgent`
	for range 20 {
		_, err := tools.Parse(s, `{"ordr_id":"a","amount":-1,"copies":0.5}`)
		failure := (*tools.Failure)(nil)
		if !errors.As(err, &failure) || failure.Message != want {
			t.Fatalf("got\n%v\nwant\n%s", err, want)
		}
	}
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`,"x` + strings.Repeat("y", i+1) + `":1`)
	}
	_, err := tools.Parse(s, `{"order_id":"a","amount":1`+many.String()+`}`)
	if err == nil || !strings.HasSuffix(err.Error(), "and 92 more") {
		t.Errorf("a hundred problems are not bounded: %v", err)
	}
}

// B61: of a bad input at most 800 characters are shown again.
func TestParseEchoIsBounded(t *testing.T) {
	t.Parallel()
	s := compile(t, "t", `{"type":"object","properties":{"a":{"type":"string","maxLength":3},
		"b":{"enum":["x"]},"c":{"type":"string","pattern":"^x$"},"d":{"const":1},"e":{"type":"array","minItems":1}}}`)
	long := strings.Repeat("é", 5000)
	for raw, says := range map[string]string{
		long:                                  "(4600 more characters)",
		`{"` + long + `":1}`:                  "no property",
		`{"a":"` + long + `"}`:                "it has 5000 characters, it must have at most 3",
		`{"b":"` + long + `"}`:                `allowed are "x"`,
		`{"c":"` + long + `"}`:                "it must match the pattern ^x$",
		`{"d":"` + long + `"}`:                "it must be 1",
		`{"e":[]}`:                            "it has 0 items, it must have at least 1",
		`{"` + long + `":1,"` + long + `":1}`: "given twice",
		`{"` + strings.Repeat(long+`":1,"`, 9) + `x":1}`: "given twice",
	} {
		_, err := tools.Parse(s, raw)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
			continue
		}
		if n := strings.Count(err.Error(), "é"); n > 800 {
			t.Errorf("%s: %d characters of the input are shown again", says, n)
		}
	}
}

// A value that fits one of several branches keeps to it, and gets its defaults.
func TestParseBranches(t *testing.T) {
	t.Parallel()
	s := compile(t, "t", `{"type":"object","properties":{"v":{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer","default":1}},"required":["kind"]},
		{"type":"object","properties":{"kind":{"const":"b"},"n":{"type":"string"}},"required":["kind"]},
		{"type":"object","properties":{"kind":{"const":"c"},"n":{"type":"integer","default":"none"}},"required":["kind"]}]}}}`)
	for raw, want := range map[string]string{
		`{"kind":"a"}`:         `{"kind":"a","n":1}`,
		`{"kind":"a","n":"7"}`: `{"kind":"a","n":7}`,
		`{"kind":"b","n":7}`:   `{"kind":"b","n":"7"}`,
		`{"kind":"c"}`:         `{"kind":"c"}`,
	} {
		args, err := tools.Parse(s, `{"v":`+raw+`}`)
		if got := string(args.Canonical); err != nil || got != `{"v":`+want+`}` {
			t.Errorf("%s gives %s, %v", raw, got, err)
		}
	}
}

// C4: no arguments are none, where none are required.
func TestParseNothing(t *testing.T) {
	t.Parallel()
	s := compile(t, "list", `{"type":"object","properties":{"path":{"type":"string","default":"."}}}`)
	for _, raw := range []string{"", " \n", "null", `""`, `"null"`, "{}", `"{}"`} {
		args, err := tools.Parse(s, raw)
		if err != nil || string(args.Canonical) != `{"path":"."}` {
			t.Errorf("%q gives %s, %v", raw, args.Canonical, err)
		}
	}
	for _, raw := range []string{"[]", `"[]"`, `"x"`, "0", "false"} {
		if args, err := tools.Parse(s, raw); err == nil {
			t.Errorf("%q gives %s", raw, args.Canonical)
		}
	}
}

func TestParseThought(t *testing.T) {
	t.Parallel()
	plain := compile(t, "t", `{"type":"object","properties":{"a":{"type":"string"}}}`)
	own := compile(t, "t", `{"type":"object","properties":{"thought":{"type":"string"}}}`)
	for _, c := range []struct {
		schema                   *tools.Schema
		raw, canonical, thoughts string
	}{
		{plain, `{"thought":" to see ","a":"b"}`, `{"a":"b"}`, "to see"},
		{plain, `{"a":"b"}`, `{"a":"b"}`, ""},
		{plain, `{"thought":{"x":1},"a":"b"}`, `{"a":"b"}`, ""},
		{plain, `{"thought":null}`, `{}`, ""},
		{own, `{"thought":"mine"}`, `{"thought":"mine"}`, ""},
	} {
		args, err := tools.Parse(c.schema, c.raw)
		if err != nil || string(args.Canonical) != c.canonical || args.Thought != c.thoughts {
			t.Errorf("%s gives %s, thought %q, %v", c.raw, args.Canonical, args.Thought, err)
		}
	}
}

// An object that says it is open, or is put together from parts, is not closed.
func TestParseOpenObjects(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object"}`,
		`{"type":"object","properties":{},"additionalProperties":true}`,
		`{"type":"object","properties":{"b":{}},"additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{"b":{}},"patternProperties":{"^a":{}}}`,
		`{"type":"object","properties":{"b":{}},"allOf":[{"properties":{"a":{}}}]}`,
	} {
		if args, err := tools.Parse(compile(t, "t", schema), `{"a":"1"}`); err != nil || string(args.Canonical) != `{"a":"1"}` {
			t.Errorf("%s: %s, %v", schema, args.Canonical, err)
		}
	}
	if _, err := tools.Parse(compile(t, "t", `{"type":"object","properties":{}}`), `{"a":"1"}`); err == nil {
		t.Error("an object without properties takes any")
	}
}

// Where two readings are possible, none is taken.
func TestParseAmbiguous(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, raw string }{
		{`{"enum":["a","A "]}`, `"b"`},
		{`{"enum":["Aa","aA"]}`, `"AA"`},
		{`{"type":["array","object"]}`, `"x"`},
		{`{"oneOf":[{"type":"integer"},{"type":"number"}]}`, `"5"`},
	} {
		s := compile(t, "t", `{"type":"object","properties":{"v":`+c.schema+`}}`)
		if args, err := tools.Parse(s, `{"v":`+c.raw+`}`); err == nil {
			t.Errorf("%s takes %s as %s", c.schema, c.raw, args.Canonical)
		}
	}
}

// References inside the schema work, also for defaults and recursion.
func TestParseReferences(t *testing.T) {
	t.Parallel()
	s := compile(t, "t", `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"tree":{"$ref":"#/$defs/tree"}},
		"$defs":{"n":{"type":"integer","default":3},
		"tree":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}}}`)
	args, err := tools.Parse(s, `{"tree":{"v":"1","kids":[{"v":"2"}]}}`)
	if want := `{"n":3,"tree":{"kids":[{"v":2}],"v":1}}`; err != nil || string(args.Canonical) != want {
		t.Errorf("got %s, %v", args.Canonical, err)
	}
}
