package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/tools"
)

// jsonValue draws any JSON value as text with odd spacing and spelling.
func jsonValue(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(jsonString(), jsonNumber(), rapid.SampledFrom([]string{"true", "false", "null"}))
	if depth == 0 {
		return scalar
	}
	inner := jsonValue(depth - 1)
	list := rapid.Custom(func(t *rapid.T) string {
		return "[ " + strings.Join(rapid.SliceOfN(inner, 0, 4).Draw(t, "items"), " ,") + "\n]"
	})
	return rapid.OneOf(scalar, list, jsonObject(inner))
}

func jsonObject(value *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 4, rapid.ID[string]).Draw(t, "names")
		var members []string
		for _, name := range names {
			quoted, _ := json.Marshal(name)
			members = append(members, string(quoted)+" : "+value.Draw(t, "value"))
		}
		return "{" + strings.Join(members, ", ") + "}"
	})
}

func jsonString() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		quoted, _ := json.Marshal(rapid.String().Draw(t, "string"))
		return string(quoted)
	})
}

func jsonNumber() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
}

func TestCanonicalKeepsTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := jsonValue(3).Draw(t, "raw")
		canonical, err := tools.Canonical(json.RawMessage(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		again, err := tools.Canonical(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("not idempotent: %s then %s, %v", canonical, again, err)
		}
		if diff := cmp.Diff(exact(t, raw), exact(t, string(canonical))); diff != "" {
			t.Fatal(diff)
		}
	})
}

// exact decodes a text with numbers as fractions, so that equal means equal.
func exact(t *rapid.T, text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return fractions(v)
}

func fractions(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return "number " + r.RatString()
	case []any:
		for i := range v {
			v[i] = fractions(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = fractions(v[name])
		}
	}
	return v
}

// Whatever type is asked for, what comes out says the same as what went in.
func TestCoercionKeepsTheValue(t *testing.T) {
	t.Parallel()
	kinds := []string{"string", "integer", "number", "boolean", "array", "object", "null"}
	schemas := map[string]*tools.Schema{}
	for _, kind := range kinds {
		schemas[kind] = compile(t, "t", fmt.Sprintf(`{"type":"object","properties":{"v":{"type":%q}},"required":["v"]}`, kind))
	}
	text := rapid.OneOf(jsonNumber(), rapid.String(), rapid.SampledFrom([]string{"true", "FALSE", "[1]", `{"a":"b"}`, "null", " 5", "05"}))
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		given := rapid.OneOf(jsonValue(1), rapid.Custom(func(t *rapid.T) string {
			quoted, _ := json.Marshal(text.Draw(t, "text"))
			return string(quoted)
		})).Draw(t, "given")
		args, err := tools.Parse(schemas[kind], `{"v":`+given+`}`)
		if err != nil {
			return
		}
		before := fmt.Sprint(exact(t, `{"v":`+given+`}`))
		after := fmt.Sprint(exact(t, string(args.Canonical)))
		if before != after && !sameMeaning(t, given, kind, args.Canonical) {
			t.Fatalf("%s as %s became %s", given, kind, args.Canonical)
		}
	})
}

// sameMeaning holds the few conversions that there are, in both directions.
func sameMeaning(t *rapid.T, given, kind string, canonical json.RawMessage) bool {
	var out struct{ V json.RawMessage }
	if err := json.Unmarshal(canonical, &out); err != nil {
		t.Fatal(err)
	}
	if kind == "string" {
		return string(out.V) == `"`+given+`"`
	}
	var text string
	if json.Unmarshal([]byte(given), &text) != nil {
		return false
	}
	if kind == "boolean" {
		return strings.EqualFold(text, string(out.V))
	}
	return cmp.Equal(exact(t, text), exact(t, string(out.V)))
}

func FuzzParse(f *testing.F) {
	s := compile(f, "refund", refundSchema)
	open := compile(f, "open", `{"type":"object"}`)
	for _, seed := range []string{
		`{"order_id":"a","amount":1}`, "```json\n{}\n```", `"{\"order_id\":1}"`, `{"a":`, `null`, `{"a":1,"a":2}`,
		`{"order_id":"a","amount":"1e3","to":{"iban":"x"},"tags":"[1,]","note":5,}`, "{\"a\":\"\n\"}", `{"a":"\ud800"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, schema := range []*tools.Schema{s, open} {
			checkParsed(t, schema, raw)
		}
	})
}

// checkParsed holds for every text whatever.
func checkParsed(t *testing.T, s *tools.Schema, raw string) {
	args, err := tools.Parse(s, raw)
	if err != nil {
		failure := (*tools.Failure)(nil)
		if !errors.As(err, &failure) || failure.Code != tools.InvalidArguments {
			t.Fatalf("%q: not a failure for the model: %v", raw, err)
		}
		if n := utf8.RuneCountInString(failure.Message); n > 3000 || !utf8.ValidString(failure.Message) {
			t.Fatalf("%q: a message of %d characters", raw, n)
		}
		return
	}
	if !json.Valid(args.Canonical) || args.Canonical[0] != '{' {
		t.Fatalf("%q: canonical form %s", raw, args.Canonical)
	}
	again, err := tools.Parse(s, string(args.Canonical))
	if err != nil || string(again.Canonical) != string(args.Canonical) {
		t.Fatalf("%q: %s does not give itself: %s, %v", raw, args.Canonical, again.Canonical, err)
	}
}
