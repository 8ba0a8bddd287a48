package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/config"
)

const before = `
roles: {manager: {usergroups: [S1]}, support: {users: [U1]}}
approvals: {approvers: [manager], ttl: 1h}
tools: {http: [{name: a, description: d, url: "https://h.example/a", headers: {Authorization: "${KEY}"}}]}
`

func TestDiffNamesWhatChangedAndNoSecret(t *testing.T) {
	t.Parallel()
	parse := func(text, key string) *config.Config {
		c, err := config.Parse("x.yaml", []byte(text), func(name string) (string, bool) { return key, name == "KEY" })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	old := parse(before, "hunter-one")
	if d := config.Diff(old, parse(before, "hunter-one")); len(d) > 0 {
		t.Errorf("equal configurations differ: %v", d)
	}
	text := strings.NewReplacer("ttl: 1h", "ttl: 2h", ", support: {users: [U1]}", "", "[S1]", "[S1, S2]", "https://h.example/a", "https://h.example/b").Replace(before)
	got := config.Diff(old, parse(text, "hunter-two"))
	want := []config.Difference{
		{Key: "roles.manager.usergroups", Old: "[S1]", New: "[S1 S2]"},
		{Key: "roles.support", Old: "(set)"},
		{Key: "approvals.ttl", Old: "1h0m0s", New: "2h0m0s"},
		{Key: "tools.http[0].url", Old: "https://h.example/a", New: "https://h.example/b"},
		{Key: "tools.http[0].headers.Authorization", Old: "[secret]", New: "[secret]"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
