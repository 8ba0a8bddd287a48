package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"countersign/tools"
)

// Exit statuses by which shells tell more than that a command failed.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitKilled        = 128 + 9 // the kernel's answer to too much memory
)

// report turns an outcome into what the model reads.
func (s *Sandbox) report(out outcome) (tools.Result, error) {
	if out.stopped != nil {
		return tools.Result{}, s.stopped(out)
	}
	text := fmt.Sprintf("exit status %d%s", out.exit, meaning(out.exit))
	return tools.Result{
		Text:    text + "\n" + streams(out),
		Summary: fmt.Sprintf("exit status %d, %d bytes of output", out.exit, out.stdout.total+out.stderr.total),
		Effect:  "ran a command in a container, which is gone",
		Sources: s.sources(),
	}, nil
}

func meaning(exit int) string {
	switch exit {
	case exitNotExecutable:
		return " (a file could not be executed)"
	case exitNotFound:
		return " (a command was not found)"
	case exitKilled:
		return " (killed, probably for using too much memory)"
	}
	return ""
}

// streams writes stdout and stderr one after the other.
func streams(out outcome) string {
	var parts []string
	for _, stream := range []struct {
		name string
		*capture
	}{{"stdout", out.stdout}, {"stderr", out.stderr}} {
		if !stream.empty() {
			parts = append(parts, stream.name+":\n"+strings.TrimSuffix(stream.text(), "\n"))
		}
	}
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

// echoRunes is how much of the output goes into the message of a command that was stopped.
const echoRunes = 2000

// stopped is the failure of a command that did not end by itself.
func (s *Sandbox) stopped(out outcome) error {
	f := &tools.Failure{Code: "timeout", Message: fmt.Sprintf("The command did not end within %s; it was killed.", s.cfg.Timeout)}
	if errors.Is(out.stopped, errFlood) {
		f.Code, f.Message = "too_much_output", fmt.Sprintf("The command wrote more than %s; it was killed. Narrow its output.", size(int64(s.cfg.OutputBytes)*floodFactor))
	}
	f.Message += " Its container was removed and nothing outside was changed. Until then it wrote:\n" + ends(streams(out), echoRunes)
	return f
}

// ends keeps the head and the tail of a text.
func ends(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return fmt.Sprintf("%s\n… [%d characters left out] …\n%s", string(runes[:n/2]), len(runes)-n/2*2, string(runes[len(runes)-n/2:]))
}

// sources are what a command may have read that the asker did not write.
func (s *Sandbox) sources() []string {
	var out []string
	for _, m := range s.cfg.Mounts {
		out = append(out, "sandbox "+m.At)
	}
	return out
}

// Preview shows the command and what it will run in. Without an engine or an image
// nobody is asked.
func (s *Sandbox) Preview(ctx context.Context, c tools.Call) (tools.Preview, error) {
	command, err := commandOf(c.Args)
	if err != nil {
		return tools.Preview{}, err
	}
	engine, i, err := s.prepare(ctx)
	if err != nil {
		return tools.Preview{}, s.refusal(ctx, engine, err)
	}
	m := s.material(i, command)
	return tools.Preview{
		Summary:  "runs in a container without network; nothing outside can change",
		Detail:   detail(m, i),
		Material: m,
	}, nil
}

// material is what must be the same when the command runs.
func (s *Sandbox) material(i image, command string) map[string]string {
	c := s.cfg
	return map[string]string{
		"command": command,
		"image":   c.Image + " " + i.id,
		"mounts":  list(c.Mounts),
		"limits": fmt.Sprintf("memory %s, /tmp %s, %d processes, %g CPU, %s, output %s",
			size(c.Memory), size(c.Tmp), c.Pids, c.CPUs, c.Timeout, size(int64(c.OutputBytes))),
		"environment": strings.Join(slices.Sorted(maps.Keys(c.Env)), " "),
	}
}

func list(ms []Mount) string {
	var lines []string
	for _, m := range ms {
		lines = append(lines, m.Host+" at "+m.At+" (read-only)")
	}
	return strings.Join(lines, ", ")
}

// detail draws the material fields, the command first.
func detail(m map[string]string, i image) string {
	var b strings.Builder
	fmt.Fprintf(&b, "command:     %s\n", indent(m["command"]))
	fmt.Fprintf(&b, "image:       %s\n", m["image"])
	if i.digest != "" {
		fmt.Fprintf(&b, "             %s\n", i.digest)
	}
	for _, name := range []string{"mounts", "limits", "environment"} {
		value := m[name]
		if value == "" {
			value = "none"
		}
		fmt.Fprintf(&b, "%-12s %s\n", name+":", value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// indent keeps the lines of a command apart from those that we write.
func indent(command string) string { return strings.ReplaceAll(command, "\n", "\n             ") }

// unchanged refuses to run in anything but what was shown.
func unchanged(shown *tools.Preview, now map[string]string) error {
	if shown == nil || len(shown.Material) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if shown.Material[name] != now[name] {
			return &tools.Failure{Code: "changed", Message: "The " + name + " changed since the command was approved; nothing was run."}
		}
	}
	return nil
}
