package manifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"countersign/internal/config"
	"countersign/internal/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("countersign.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestYAML(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"default":    "",
		"usergroups": "roles: {manager: {usergroups: [S1]}}\napprovals: {approvers: [manager]}\n",
		"channels":   "slack: {channels: [C1]}\n",
		"direct":     "slack: {channels: [C1, D1]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := manifest.For(parse(t, text), "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.YAML()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
			check(t, m, got)
		})
	}
}

// check reads the text as Slack would: it says what the manifest says, within
// the lengths of Slack's schema.
func check(t *testing.T, m *manifest.Manifest, text string) {
	t.Helper()
	var read struct {
		Display struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
		} `yaml:"display_information"`
		OAuth struct {
			Scopes struct {
				Bot []string `yaml:"bot"`
			} `yaml:"scopes"`
		} `yaml:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `yaml:"bot_events"`
			} `yaml:"event_subscriptions"`
			Socket bool `yaml:"socket_mode_enabled"`
		} `yaml:"settings"`
	}
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.OAuth.Scopes.Bot, m.ScopeNames()) || !slices.Equal(read.Settings.Events.Bot, m.EventNames()) {
		t.Errorf("reads as %+v", read)
	}
	if !read.Settings.Socket || utf8.RuneCountInString(read.Display.Name) > 35 || len(read.Display.Description) > 140 {
		t.Errorf("reads as %+v", read)
	}
	if d := slices.Compact(slices.Sorted(slices.Values(m.ScopeNames()))); len(d) != len(m.Scopes) {
		t.Errorf("a scope is there twice: %v", m.ScopeNames())
	}
}

func TestOnlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	m, err := manifest.For(parse(t, "slack: {channels: [C1]}\nroles: {manager: {users: [U1]}}\napprovals: {approvers: [manager]}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range m.ScopeNames() {
		if strings.HasPrefix(scope, "usergroups") || strings.HasSuffix(scope, ".customize") {
			t.Errorf("%s is not needed", scope)
		}
	}
	for _, event := range []string{"subteam_members_changed", "message.im", "user_change"} {
		if slices.Contains(m.EventNames(), event) {
			t.Errorf("%s is not needed", event)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"ops helper": true, "助手": true, strings.Repeat("界", 35): true,
		strings.Repeat("x", 36): false, `a"b`: false, "a\nscopes: b": false, `a\b`: false,
	} {
		m, err := manifest.For(config.Default(), name)
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if ok {
			text, err := m.YAML()
			if err != nil {
				t.Fatal(err)
			}
			check(t, m, text)
		}
	}
}
