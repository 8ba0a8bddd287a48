package demo_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownSettings are what a new user writes first: who may approve, and one folder.
const ownSettings = `http: {addr: ""}
roles: {manager: {usergroups: [S0MANAGERS]}}
approvals: {approvers: [manager]}
tools: {docs: {path: ./runbooks}}
`

// Without its bot the demo prints the settings with which somebody serves in its
// workspace: the doctor finds nothing broken there, and a card is approved.
func TestRehearsalInTheWorkspaceOfTheDemo(t *testing.T) {
	t.Parallel()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	d, settings := startWithoutBot(t, program, filepath.Join(home, "demo"))
	runbooks := filepath.Join(home, "runbooks")
	if err := os.Mkdir(runbooks, 0o750); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(runbooks, "doc_42.md")
	for file, text := range map[string]string{filepath.Join(home, "countersign.yaml"): ownSettings, document: "# Forty-two\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(command string) *exec.Cmd {
		c := exec.Command(program, command)
		c.Dir, c.Env = home, settings
		return c
	}
	out, err := with("doctor").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "answers and calls tools") || !strings.Contains(string(out), "2 people can countersign") {
		t.Fatalf("%v\n%s", err, out)
	}
	serve, log := with("serve"), &bytes.Buffer{}
	serve.Stderr = log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	served := &demo{t: t, cmd: serve, base: d.base, log: log}
	t.Cleanup(served.kill)
	served.expectListening()
	served.act("say", map[string]any{"user": "U0ANA", "channel": "C0OPS", "text": "@countersign delete document doc_42"})
	card := served.expect("U0BEN", "approval_approve", "doc_42")
	served.act("click", map[string]any{"user": "U0BEN", "channel": "C0OPS", "ts": card.TS, "action_id": "approval_approve"})
	served.expect("U0ANA", "doc_42", "U0BEN", "Changed")
	if _, err := os.Stat(document); !os.IsNotExist(err) {
		t.Errorf("the document is still there: %v", err)
	}
}

// startWithoutBot starts the demo without its bot, and gives the environment that it prints.
func startWithoutBot(t *testing.T, program, dir string) (*demo, []string) {
	t.Helper()
	d := &demo{t: t, log: &bytes.Buffer{}}
	d.cmd = exec.Command(program, "demo", "--no-bot", "--dir", dir, "--addr", "127.0.0.1:0", "--think", "0s")
	d.cmd.Env = append(os.Environ(), "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	d.cmd.Stderr = d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	export := regexp.MustCompile(`^  export (\w+)='([^']*)'$`)
	settings := []string{"PATH=" + os.Getenv("PATH")}
	for said := bufio.NewScanner(out); said.Scan(); {
		line := said.Text()
		if m := export.FindStringSubmatch(line); m != nil {
			settings = append(settings, m[1]+"="+m[2])
		}
		if d.base == "" {
			d.base = pageAddress.FindString(line)
		}
		if strings.HasPrefix(line, "--config") {
			return d, settings
		}
	}
	t.Fatalf("it did not say how to serve:\n%s", d.log)
	return nil, nil
}
