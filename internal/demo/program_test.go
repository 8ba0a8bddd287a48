package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait of these tests.
const patience = 2 * time.Minute

// built builds the program once for all tests of the package.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "countersign-built-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "countersign")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", program, "countersign/cmd/countersign").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program)) // in the system's temporary folder: nothing depends on it
	}
	os.Exit(code)
}

// demo is one running demo of the real program.
type demo struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string // of the page
	log  *bytes.Buffer

	browser context.Context // of a test that looks at the page
}

var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// startDemo starts the program in a folder and waits until it says where its page is.
func startDemo(t *testing.T, dir string, environment ...string) *demo {
	t.Helper()
	return startThinking(t, dir, "0", environment...)
}

// startThinking is startDemo with a model that takes its time.
func startThinking(t *testing.T, dir, think string, environment ...string) *demo {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{t: t, log: &bytes.Buffer{}}
	d.cmd = exec.Command(program, "demo", "--dir", dir, "--addr", "127.0.0.1:0", "--think", think)
	d.cmd.Env = append(append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL="), environment...)
	d.cmd.Stderr = d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	said := bufio.NewScanner(out)
	for d.base == "" && said.Scan() {
		d.base = pageAddress.FindString(said.Text())
	}
	if d.base == "" {
		d.kill()
		t.Fatalf("the demo did not say where its page is:\n%s", d.log)
	}
	go func() { // what it says later is nobody's concern, but the pipe must not fill
		for said.Scan() {
		}
	}()
	return d
}

// kill ends the program as SIGKILL does: it can do nothing about it.
func (d *demo) kill() {
	_ = d.cmd.Process.Kill() // it may be dead already
	_ = d.cmd.Wait()         // "signal: killed"
}

// A second demo in one folder is refused before it empties or writes anything there.
func TestOneDemoInAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	startDemo(t, dir)
	before, err := os.ReadFile(filepath.Join(dir, "ports.json"))
	if err != nil {
		t.Fatal(err)
	}
	program, _ := built() // startDemo had it
	out, err := exec.Command(program, "demo", "--dir", dir, "--addr", "127.0.0.1:0", "--fresh").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Another demo runs from") {
		t.Errorf("a second demo: %v\n%s", err, out)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "ports.json")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the first one's folder was changed: %s, %v", after, err)
	}
}

// act does something as a person, through the page's own interface.
func (d *demo) act(what string, fields map[string]any) {
	d.t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/page/"+what, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("X-Local-Slack", "page")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	var reply struct {
		Acked bool   `json:"acked"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil || res.StatusCode != http.StatusOK || !reply.Acked {
		d.t.Fatalf("%s %v: %s %+v %v", what, fields, res.Status, reply, err)
	}
}

// message is a message as far as these tests look: its place and everything in it.
type message struct {
	TS     string          `json:"ts"`
	User   string          `json:"user"`
	Text   string          `json:"text"`
	Blocks json.RawMessage `json:"blocks"`
}

func (m message) has(parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(m.Text+string(m.Blocks), p) {
			return false
		}
	}
	return true
}

// messages are those of #ops, as a person sees them.
func (d *demo) messages(user string) []message {
	d.t.Helper()
	all, _ := d.state(user)
	return all
}

// state is what a person sees in #ops, and whether countersign is connected.
func (d *demo) state(user string) ([]message, bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+"/page/state?user="+user, http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	var state struct {
		Messages map[string][]message `json:"messages"`
		Sockets  int                  `json:"sockets"`
	}
	if err := json.NewDecoder(res.Body).Decode(&state); err != nil {
		d.t.Fatal(err)
	}
	return state.Messages["C0OPS"], state.Sockets > 0
}

// expect waits for a message of the bot with these parts, while countersign listens:
// a press would go nowhere otherwise.
func (d *demo) expect(user string, parts ...string) (found message) {
	d.t.Helper()
	d.wait(fmt.Sprintf("message with %q", parts), func() bool {
		all, listening := d.state(user)
		for _, m := range all {
			if listening && m.User == "U0COUNTERSIGN" && m.has(parts...) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// wait looks again and again until something holds.
func (d *demo) wait(what string, holds func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			all, _ := d.state("U0ANA")
			d.t.Fatalf("no %s:\n%s\n%s", what, d.log, texts(all))
		}
	}
}

// texts is what people see, for a test that fails.
func texts(all []message) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s: %s %s\n", m.User, m.Text, m.Blocks)
	}
	return b.String()
}

// expectListening waits until countersign is connected to the local Slack.
func (d *demo) expectListening() {
	d.t.Helper()
	d.wait("a connection", func() bool { _, listening := d.state("U0ANA"); return listening })
}
