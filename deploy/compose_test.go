package deploy_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/apptest"
	"countersign/localslack/slacktest"
)

// composed is a service as Docker Compose's own library reads it.
type composed struct {
	Command     []string
	Environment map[string]string
	Hostname    string
	User        string
	ReadOnly    bool     `json:"read_only"`
	CapDrop     []string `json:"cap_drop"`
	SecurityOpt []string `json:"security_opt"`
	MemLimit    string   `json:"mem_limit"`
	PidsLimit   int      `json:"pids_limit"`
	Volumes     []struct {
		Source, Target string
		ReadOnly       bool `json:"read_only"`
	}
	Healthcheck struct{ Test []string }
}

// services are those of the compose file, with these variables in the file beside it.
func services(t *testing.T, variables map[string]string) map[string]composed {
	t.Helper()
	file := filepath.Join(t.TempDir(), ".env")
	var text strings.Builder
	for name, value := range variables {
		fmt.Fprintf(&text, "%s=%s\n", name, value)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out struct{ Services map[string]composed }
	if err := json.Unmarshal([]byte(run(t, checker(t, "compose"), "compose/compose.yaml", file)), &out); err != nil {
		t.Fatal(err)
	}
	return out.Services
}

// container runs a service of the compose file in the engine. Of what the file says two things
// are other here: the database is the test's own, and because the network is the machine's,
// each has its own port.
func (c containers) container(name string, s composed, settings, folder string) {
	c.t.Helper()
	args := []string{
		"run", "--rm", "--name", name, "--hostname", s.Hostname, "--network", "host", "--user", s.User, "--memory", s.MemLimit,
		"--pids-limit", fmt.Sprint(s.PidsLimit), fmt.Sprintf("--read-only=%t", s.ReadOnly),
		"--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", // Podman's own are above what this machine may allow
		"--volume", settings + ":" + s.Volumes[0].Target + ":ro", "--volume", folder + ":" + folder,
	}
	for _, drop := range s.CapDrop {
		args = append(args, "--cap-drop", drop)
	}
	for _, option := range s.SecurityOpt {
		args = append(args, "--security-opt", option)
	}
	for key, value := range s.Environment {
		args = append(args, "--env", key+"="+value)
	}
	log := &strings.Builder{}
	p := exec.Command(c.podman, c.args(append(append(args, "countersign:test"), s.Command...)...)...)
	p.Stdout, p.Stderr = log, log
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = exec.Command(c.podman, c.args("rm", "--force", "--time", "0", "--ignore", name)...).Run() // it may be gone
		_ = p.Wait()
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", name, log)
		}
	})
}

// The compose file's two replicas serve as it says, as far as there is no registry to take Postgres from: in
// the image, with their rights, limits, variables and commands. They become healthy by
// their own check, and when one is killed the other goes on with what waits.
func TestComposeServes(t *testing.T) {
	t.Parallel()
	engine := podman(t)
	program := filepath.Join(t.TempDir(), "countersign")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "countersign/cmd/countersign")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	w := apptest.New(t, apptest.Options{Database: "postgres"})
	text, env := w.Settings()
	all := services(t, map[string]string{
		"SLACK_APP_TOKEN": env["SLACK_APP_TOKEN"], "SLACK_BOT_TOKEN": env["SLACK_BOT_TOKEN"], "OPENAI_API_KEY": env["OPENAI_API_KEY"],
		"OPENAI_BASE_URL": env["OPENAI_BASE_URL"], "OPENAI_MODEL": env["OPENAI_MODEL"], "POSTGRES_PASSWORD": "letters",
	})
	settings := filepath.Join(t.TempDir(), "countersign.yaml")
	text += fmt.Sprintf("slack: {api_url: %q}\n", env["SLACK_API_URL"])
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil { // the container's user reads it
		t.Fatal(err)
	}
	open(t, w.Dir)
	engine.image(binary)
	names := []string{"countersign-a", "countersign-b"}
	for _, name := range names {
		s := all[name]
		if want := "postgres://countersign:letters@postgres:5432/countersign?sslmode=disable"; s.Environment["DATABASE_URL"] != want {
			t.Errorf("%s uses %s", name, s.Environment["DATABASE_URL"])
		}
		s.Environment["DATABASE_URL"], s.Environment["COUNTERSIGN_HTTP_ADDR"] = w.URL, apptest.Free(t)
		engine.container(name, s, settings, w.Dir)
	}
	for _, name := range names {
		check := all[name].Healthcheck.Test[1:]
		w.Until(name+" to be healthy", func() bool {
			return exec.Command(engine.podman, engine.args(append([]string{"exec", name}, check...)...)...).Run() == nil
		})
	}
	ask := w.Slack.User("ana").Says("#ops", "@countersign 删除文档 doc_42")
	card := w.Slack.Expect(slacktest.InThread(ask), slacktest.Button("approval_approve"))
	engine.run("kill", names[0])
	w.Press(w.Slack.User("mgr"), card, "approval_approve")
	w.Slack.Expect(slacktest.InThread(ask), slacktest.Text("已变更"))
	engine.run("stop", "--time", "30", names[1])
}

// open lets the container's user work in a folder.
func open(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777) // a test's own folder
	})
	if err != nil {
		t.Fatal(err)
	}
}
