package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

func TestDigestKeepsPartsApart(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a\x00b"}} {
		d := tools.Digest(parts...)
		if other, taken := seen[d]; taken {
			t.Errorf("%q and %q have one digest", parts, other)
		}
		seen[d] = parts
	}
	// SHA-256 of the empty input, as everybody knows it.
	if got := tools.Digest(); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("got %s", got)
	}
}

// Approvals are stored with these hashes: if one of them changes between
// versions, every approval that is open during the update is asked again.
func TestHashesAreStable(t *testing.T) {
	t.Parallel()
	spec := tools.Spec{Name: "refund", Description: "Refunds.", Risk: tools.High, Effects: true,
		Parameters: json.RawMessage(`{"type":"object"}`)}
	preview := &tools.Preview{Summary: "s", Material: map[string]string{"b": "2", "a": "1"}}
	got := map[string]string{
		"contract":    tools.Contract(spec),
		"fingerprint": tools.Fingerprint("refund", json.RawMessage(`{"amount":1}`)),
		"preview":     preview.Fingerprint(),
	}
	want := map[string]string{
		"contract":    "12fe6992c82b93d7f40de4f563599ffe0b6e66005fac21511562300b6b615ee9",
		"fingerprint": "6f5636c2ab4abd3009a6a054041ec96ee7c370a71318f26e597ffe04898ba6c5",
		"preview":     "702d7fc31e01a208ab6b5f6334524f4b540bd15fb84ccfd290f212c925755795",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	base := tools.Spec{Name: "a", Description: "d", Risk: tools.High, Effects: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"minimum":1.0},"b":{}}}`)}
	first := tools.Contract(base)
	for name, change := range map[string]func(*tools.Spec){
		"name":        func(s *tools.Spec) { s.Name = "b" },
		"description": func(s *tools.Spec) { s.Description = "d2" },
		"schema": func(s *tools.Spec) {
			s.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"minimum":2},"b":{}}}`)
		},
		"risk":       func(s *tools.Spec) { s.Risk = tools.Medium },
		"effects":    func(s *tools.Spec) { s.Effects = false },
		"idempotent": func(s *tools.Spec) { s.Idempotent = true },
		"private":    func(s *tools.Spec) { s.Private = true },
		"egress":     func(s *tools.Spec) { s.Egress = true },
	} {
		changed := base
		change(&changed)
		if tools.Contract(changed) == first {
			t.Errorf("a change of the %s leaves the contract as it was", name)
		}
	}
	same := base
	same.Parameters = json.RawMessage("{\n \"properties\": {\"b\": {}, \"a\": {\"minimum\": 1}},\n \"type\": \"object\"}")
	same.Parallel, same.Roles = true, []string{"support"}
	if tools.Contract(same) != first {
		t.Error("the spelling of the schema, or who may ask, changes the contract")
	}
}

func TestPreviewFingerprint(t *testing.T) {
	t.Parallel()
	a := &tools.Preview{Summary: "1 row", Detail: "x", Material: map[string]string{"count": "1", "sum": "ab"}}
	b := &tools.Preview{Summary: "other words", Material: map[string]string{"sum": "ab", "count": "1"}}
	c := &tools.Preview{Summary: "1 row", Detail: "x", Material: map[string]string{"count": "2", "sum": "ab"}}
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("what is not material counts")
	}
	if a.Fingerprint() == c.Fingerprint() {
		t.Error("what is material does not count")
	}
	var none *tools.Preview
	if none.Fingerprint() != (&tools.Preview{Summary: "s"}).Fingerprint() {
		t.Error("no preview and one without material differ")
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	a := tools.Fingerprint("refund", json.RawMessage(`{"amount":1}`))
	if a == tools.Fingerprint("refund", json.RawMessage(`{"amount":2}`)) || a == tools.Fingerprint("pay", json.RawMessage(`{"amount":1}`)) {
		t.Error("different calls have one fingerprint")
	}
}

func TestShownSchema(t *testing.T) {
	t.Parallel()
	const thought = `"thought":{"type":"string","description":"Why this call, in one sentence."}`
	for own, want := range map[string]string{
		"": `{"type":"object","additionalProperties":false,"properties":{` + thought + `},"required":["thought"]}`,
		`{"type":"object","properties":{"b":{"type":"string"},"a":{}},"required":["b"],"additionalProperties":false}`: `{"type":"object","properties":{` +
			thought + `,"b":{"type":"string"},"a":{}},"required":["thought","b"],"additionalProperties":false}`,
		`{"type":"object","properties":{"thought":{}}}`: `{"type":"object","properties":{"thought":{}}}`,
	} {
		if diff := cmp.Diff(want, string(tools.ShownSchema(tools.Spec{Parameters: json.RawMessage(own)}))); diff != "" {
			t.Error(diff)
		}
	}
}
