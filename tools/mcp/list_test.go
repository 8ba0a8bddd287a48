package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	listed := map[string]bool{"a.b": true, "a_b": true, "c/d": true, long: true, long + "y": true, "free.of": true}
	taken := map[string]bool{"srv_e": true}
	n := &namer{server: "srv", given: map[string]string{}, taken: func(name string) bool { return taken[name] }}
	got := map[string]string{}
	for _, own := range []string{"a.b", "a_b", "c/d", "c.d", long, long + "y", "e", "余额"} {
		got[own] = n.name(own, func(own string) bool { return listed[own] })
	}
	seen := map[string]string{}
	for own, name := range got {
		if other, twice := seen[name]; twice {
			t.Errorf("%s and %s are both %s", own, other, name)
		}
		if seen[name] = own; len(name) > maxName || taken[name] || unfit.MatchString(name) {
			t.Errorf("%s is named %s", own, name)
		}
		if again := n.name(own, func(string) bool { return false }); again != name {
			t.Errorf("%s was %s and is %s", own, name, again)
		}
	}
	if got["a_b"] != "srv_a_b" || got["c/d"] != "srv_c_d" || !strings.HasPrefix(got["a.b"], "srv_a_b_") || !strings.HasPrefix(got["c.d"], "srv_c_d_") {
		t.Error(got)
	}
}

// What hints do to the contract, with and without trust.
func TestHints(t *testing.T) {
	t.Parallel()
	closed, open := false, true
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}
	again := &mcp.ToolAnnotations{IdempotentHint: true, OpenWorldHint: &open}
	high := tools.Spec{Risk: tools.High, Effects: true, Egress: true}
	for name, c := range map[string]struct {
		cfg   Config
		hints *mcp.ToolAnnotations
		want  tools.Spec
	}{
		"none":                    {Config{Trusted: true}, nil, high},
		"reads":                   {Config{Trusted: true}, reads, tools.Spec{Risk: tools.Low, Parallel: true}},
		"reads, not trusted":      {Config{}, reads, high},
		"idempotent":              {Config{Trusted: true}, again, tools.Spec{Risk: tools.High, Effects: true, Idempotent: true, Egress: true}},
		"idempotent, not trusted": {Config{}, again, high},
		"medium":                  {Config{Risk: tools.Medium}, reads, tools.Spec{Risk: tools.Medium, Effects: true, Egress: true}},
		"low by the operator":     {Config{Risk: tools.Low}, reads, tools.Spec{Risk: tools.Low, Parallel: true, Egress: true}},
		"low, but it changes":     {Config{Risk: tools.Low}, again, tools.Spec{Risk: tools.Low, Effects: true, Egress: true}},
		"egress by the operator":  {Config{Trusted: true, Egress: &open}, reads, tools.Spec{Risk: tools.Low, Parallel: true, Egress: true}},
		"no egress":               {Config{Egress: &closed}, again, tools.Spec{Risk: tools.High, Effects: true}},
	} {
		s := &Server{cfg: withDefaults(c.cfg)}
		got, err := s.specOf("", &mcp.Tool{Annotations: c.hints}, &mcp.Implementation{}, "")
		got.Description, got.Parameters, got.Target = "", nil, ""
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// What a server says about its tools is bounded and visible.
func TestDescriptionsAreData(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	l.add(&mcp.Tool{
		Name: "sly", Description: "Reads\u202E\x1b[31m " + strings.Repeat("x", 5000),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"description":{"type":"string","description":"a\u200bb","enum":["x\u200by"]}}}`),
	}, says(""))
	spec := find(t, connect(t, l.config()), "srv_sly").Spec()
	if n := len([]rune(spec.Description)); n > descriptionRunes+300 || !strings.HasPrefix(spec.Description, "Reads⟨U+202E⟩⟨U+001B⟩[31m ") ||
		!strings.Contains(spec.Description, `(Tool "sly" of the MCP server srv, which calls itself local 1.0; contract `) {
		t.Error(n, spec.Description)
	}
	want := `{"properties":{"description":{"description":"a⟨U+200B⟩b","enum":["x` + "\u200b" + `y"],"type":"string"}},"type":"object"}`
	if diff := cmp.Diff(want, string(spec.Parameters)); diff != "" {
		t.Error(diff)
	}
}

// A tool whose schema no gate could keep is left out, and the others are there.
func TestToolsThatCannotBeOffered(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	l.add(&mcp.Tool{Name: "good"}, says(""))
	l.add(&mcp.Tool{Name: "huge", InputSchema: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`)}, says(""))
	l.add(&mcp.Tool{Name: "remote", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)}, says(""))
	for i := range maxTools {
		l.add(&mcp.Tool{Name: fmt.Sprintf("t%03d", i)}, says(""))
	}
	s := connect(t, l.config())
	if n := len(s.Tools()); n != maxTools-2 {
		t.Errorf("%d tools", n)
	}
	find(t, s, "srv_good")
	if skipped := s.Status().Skipped; len(skipped) != 2 || skipped["huge"] == "" || skipped["remote"] == "" {
		t.Error(skipped)
	}
}

// A server may have no tools at all, or names that are taken.
func TestRegister(t *testing.T) {
	t.Parallel()
	none := connect(t, newLocal(&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}}).config())
	if ts := none.Tools(); len(ts) > 0 {
		t.Error(names(ts))
	}
	registry, err := tools.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for i, version := range []string{"one", "two", "three"} {
		l := newLocal(nil)
		l.add(&mcp.Tool{Name: "x"}, says(version))
		cfg := l.config()
		if i < 2 { // the third does not look
			cfg.Taken = func(name string) bool { _, taken := registry.Get(name); return taken }
		}
		connect(t, cfg).Register(registry)
	}
	got := registered(registry)
	if len(got) != 2 || got[0] != "srv_x" || !strings.HasPrefix(got[1], "srv_x_") {
		t.Error(got)
	}
	if tool, _ := registry.Get("srv_x"); tool != nil {
		if r, err := tool.Call(t.Context(), tools.Call{}); err != nil || r.Text != "one" {
			t.Error(r, err)
		}
	}
}

// The time between attempts grows, and a call does not wait for it.
func TestDelayGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		cfg := Config{Name: "srv", link: func() (link, error) {
			at = append(at, time.Since(began))
			return link{}, errors.New("it is down")
		}}
		s, err := Connect(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for i := 1; i < len(at); i++ {
			want := min(defaultPace.first<<(i-1), defaultPace.longest)
			if gap := at[i] - at[i-1]; gap > want || gap < want*9/10 {
				t.Errorf("gap %d is %s, want %s", i, gap, want)
			}
		}
		if n := len(at); n < 12 || n > 17 {
			t.Errorf("%d attempts in ten minutes", n)
		}
		before := len(at)
		if _, err := s.live(t.Context()); err == nil || !strings.Contains(err.Error(), "it is down") {
			t.Error(err)
		}
		if len(at) == before {
			t.Error("a call does not try again")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no name":             {Command: []string{"x"}},
		"a name with a space": {Name: "a b", Command: []string{"x"}},
		"nothing":             {Name: "a"},
		"both":                {Name: "a", Command: []string{"x"}, URL: "http://h"},
		"headers of programs": {Name: "a", Command: []string{"x"}, Headers: map[string]string{"A": "b"}},
		"env of addresses":    {Name: "a", URL: "http://h", Env: map[string]string{"A": "b"}},
		"another scheme":      {Name: "a", URL: "ftp://h/secret-in-path"},
		"credentials":         {Name: "a", URL: "http://user:secret@h/"},
		"a header of two":     {Name: "a", URL: "http://h", Headers: map[string]string{"A": "secret\r\nB: c"}},
		"a variable of two":   {Name: "a", Command: []string{"x"}, Env: map[string]string{"A=B": "secret"}},
		"risk":                {Name: "a", Command: []string{"x"}, Risk: "none"},
	} {
		if s, err := Connect(t.Context(), cfg); !errors.Is(err, ErrConfig) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
