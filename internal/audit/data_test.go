package audit_test

import (
	"strings"
	"testing"

	"countersign/internal/audit"
)

// mask hides one word, and what is named pin.
func mask(s string) string {
	return strings.NewReplacer("hush", "⟨masked⟩", "pin: 7", "pin: ⟨masked⟩", `"n":5`, `"n":"⟨masked⟩"`, `"b":6`, `"b":⟨masked⟩`).Replace(s)
}

func TestData(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		fields any
		want   string
	}{
		{"nothing to hide", map[string]any{"b": "<a>", "a": 1.5}, `{"a":1.5,"b":"\u003ca\u003e"}`},
		{"a text", map[string]any{"a": "say hush now"}, `{"a":"say ⟨masked⟩ now"}`},
		{"by its name", map[string]any{"pin": "7 8 9", "x": "7"}, `{"pin":"⟨masked⟩","x":"7"}`},
		{"a number by its name", map[string]any{"pin": []any{7, 8}}, `{"pin":["⟨masked⟩",8]}`},
		{"within JSON that is a text", map[string]any{"a": `{"c":"{\"pin\":\"7\"}"}`}, `{"a":"{\"c\":\"{\\\"pin\\\":\\\"⟨masked⟩\\\"}\"}"}`},
		{"names", map[string]any{"hush": 1, "hushhush": 2, "⟨masked⟩": 3}, `{"⟨masked⟩":1,"⟨masked⟩'":3,"⟨masked⟩⟨masked⟩":2}`},
		{"what spans a name and a value", map[string]any{"n": 5}, `{"n":"⟨masked⟩"}`},
		{"what would break the JSON", map[string]any{"b": 6, "a": "hush"}, `{"a":"⟨masked⟩","b":6}`},
		{"not representable", func() {}, `{"error":"not representable"}`},
	} {
		if got := audit.Data(tt.fields, mask); got != tt.want {
			t.Errorf("%s: %s, not %s", tt.name, got, tt.want)
		}
	}
	if got := string(audit.Masked([]byte("hush {"), mask)); got != `"⟨masked⟩ {"` {
		t.Errorf("what is no JSON: %s", got)
	}
}
