package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/internal/apptest"
	"countersign/internal/audit"
	"countersign/localslack/slacktest"
)

var update = flag.Bool("update", false, "write the golden files")

// desk is where an operator sits: beside a world, with its settings in a file.
type desk struct {
	*apptest.World
	t    *testing.T
	env  map[string]string
	file string
	text string // of the file
	in   string
	now  func() time.Time

	before map[string]string // environment and
	sound  string            // text before a mistake was made
}

// sit gives an operator's desk in a world.
func sit(t *testing.T, w *apptest.World) *desk {
	t.Helper()
	text, env := w.Settings()
	d := &desk{World: w, t: t, env: env, now: time.Now}
	d.write(text)
	return d
}

// bare is a desk without a world: a configuration and an environment.
func bare(t *testing.T, text string, env map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, env: env, now: time.Now}
	d.write(text)
	return d
}

// write makes the text the configuration.
func (d *desk) write(text string) {
	d.t.Helper()
	d.file, d.text = filepath.Join(d.t.TempDir(), "countersign.yaml"), text
	if err := os.WriteFile(d.file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// said is what a command printed, and its exit code.
type printed struct {
	code      int
	out, errs string
}

func (d *desk) run(args ...string) printed {
	d.t.Helper()
	var out, errs bytes.Buffer
	h := host{
		lookup: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok },
		in:     strings.NewReader(d.in), now: d.now,
	}
	code := h.run(d.t.Context(), append([]string{"--config", d.file, "--log-level", "error"}, args...), &out, &errs)
	return printed{code, out.String(), errs.String()}
}

// must runs a command that works.
func (d *desk) must(args ...string) string {
	d.t.Helper()
	p := d.run(args...)
	if p.code != 0 || p.errs != "" {
		d.t.Fatalf("%v: exit code %d, %s\n%s", args, p.code, p.errs, p.out)
	}
	return p.out
}

// fails runs a command that must not work, and wants one sentence of it.
func (d *desk) fails(want string, args ...string) string {
	d.t.Helper()
	p := d.run(args...)
	sentence := strings.TrimSuffix(strings.TrimPrefix(p.errs, "countersign: "), "\n")
	if p.code == 0 || !strings.Contains(sentence, want) {
		d.t.Fatalf("%v: exit code %d, %q, wanted %q\n%s", args, p.code, p.errs, want, p.out)
	}
	if strings.Contains(sentence, "goroutine") || strings.Contains(sentence, "\n") {
		d.t.Errorf("%v: not one sentence: %q", args, p.errs)
	}
	return p.out
}

// What differs from run to run, in the order in which it is replaced.
var unsteady = []struct {
	shape *regexp.Regexp
	as    string
}{
	{regexp.MustCompile(`/tmp/[^\s",]*`), "DIR"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`cli, [^\s,:]+@[^\s,:"]+`), "cli, USER@HOST"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b\d{8}T\d{6}\.\d+Z`), "TIME"},
	{regexp.MustCompile(`\b\d{10}\.\d{6}\b`), "TS"},
	{regexp.MustCompile(`\b\d+ of (\d+) tokens`), "N of $1 tokens"},
	{regexp.MustCompile(`\(\d+ tokens\)`), "(N tokens)"},
	{regexp.MustCompile(`schema \d+`), "schema N"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\bg[0-9a-f]{16}\b`), "GRANT"},
	{regexp.MustCompile(`\b(\d+d\d\dh|\d+h\d\dm|\d+m\d\ds|\d+s)\b`), "SPAN"},
	{regexp.MustCompile(`to within \d\S*s\.`), "to within SPAN."},
}

// steady replaces what differs from run to run; ids are numbered as they appear.
func steady(s string) string {
	for _, u := range unsteady {
		s = u.shape.ReplaceAllString(s, u.as)
	}
	ids := map[string]string{}
	s = regexp.MustCompile(`\b[ram][0-9a-z]{19}\b`).ReplaceAllStringFunc(s, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("%s-%d", strings.ToUpper(id[:1]), len(ids)+1)
		}
		return ids[id]
	})
	// Columns are as wide as what was in them.
	return regexp.MustCompile(` {2,}`).ReplaceAllString(s, "  ")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = steady(got)
	path := filepath.Join("testdata", name+".txt")
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
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// waiting is a world in which the deletion of doc_42 waits to be countersigned; it
// gives the card and the approval's id.
func waiting(t *testing.T, o apptest.Options) (*desk, slacktest.Message, string) {
	t.Helper()
	w := apptest.Start(t, o)
	d := sit(t, w)
	ask := w.Slack.User("ana").Says("#ops", "@countersign 删除文档 doc_42")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"), slacktest.Text("doc_42"))
	w.Until("the record of the card", func() bool {
		entries, err := w.Newest().Store().AuditEntries(t.Context(), 0, 10)
		return err == nil && slices.ContainsFunc(entries, func(e audit.Entry) bool { return e.Kind == "card.shown" })
	})
	cases, err := w.Newest().Store().Cases(t.Context(), false, 10)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%v, %v", cases, err)
	}
	return d, card, cases[0].Approval.ID
}
