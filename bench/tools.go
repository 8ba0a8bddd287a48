package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"countersign/tools"
)

// Hands are the tools of the measured scenarios.
type Hands struct {
	Effects io.Writer // gets one line for every side effect; nil: nobody counts them
	Files   string    // the folder that read_file reads
	HangAt  string    // a tool, or tool:step, that sleeps a minute after its effect; empty: none
}

// hangs is how long a tool sleeps that was told to.
const hangs = time.Minute

// arguments are those of all the tools.
type arguments struct {
	ID      string
	Step    int
	Path    string
	Numbers []float64
}

// hand is one tool.
type hand struct {
	spec tools.Spec
	do   func(ctx context.Context, began time.Time, in arguments) (string, error)
}

// Spec gives the tool's contract.
func (h hand) Spec() tools.Spec { return h.spec }

// Call takes the time before anything else: it is when the tool ran.
func (h hand) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	began := time.Now()
	var in arguments
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return tools.Result{}, &tools.Failure{Code: tools.InvalidArguments, Message: err.Error()}
	}
	text, err := h.do(ctx, began, in)
	return tools.Result{Text: text}, err
}

func (h Hands) registry() (*tools.Registry, error) {
	return tools.NewRegistry(
		hand{spec("noop", "Do nothing", tools.Low, noopSchema), func(context.Context, time.Time, arguments) (string, error) { return "ok", nil }},
		hand{withEffects(spec("append_note", "Append a note", tools.Low, noteSchema)), h.note},
		hand{spec("read_file", "Read a file", tools.Low, fileSchema), h.read},
		hand{spec("calculate_stats", "Mean of numbers", tools.Low, statsSchema), mean},
		hand{withEffects(spec("restart_service", "Restart a service (HIGH risk)", tools.High, restartSchema)), h.restart},
	)
}

func spec(name, description string, risk tools.Risk, schema string) tools.Spec {
	return tools.Spec{Name: name, Description: description, Risk: risk, Parameters: json.RawMessage(schema)}
}

func withEffects(s tools.Spec) tools.Spec {
	s.Effects, s.Timeout = true, 2*hangs
	return s
}

// The arguments of the tools.
const (
	noopSchema    = `{"type":"object","properties":{"step":{"type":"number"}},"required":["step"],"additionalProperties":false}`
	noteSchema    = `{"type":"object","properties":{"id":{"type":"string"},"step":{"type":"number"}},"required":["id","step"],"additionalProperties":false}`
	fileSchema    = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`
	statsSchema   = `{"type":"object","properties":{"numbers":{"type":"array","items":{"type":"number"}}},"required":["numbers"],"additionalProperties":false}`
	restartSchema = `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}`
)

// effect leaves one line, in one write, and then hangs if it was told to.
func (h Hands) effect(ctx context.Context, began time.Time, tool string, in arguments) error {
	if h.Effects != nil {
		line := fmt.Sprintf("%d\t%d\t%s\t%s\t%d\n", began.UnixMicro(), os.Getpid(), in.ID, tool, in.Step)
		if _, err := io.WriteString(h.Effects, line); err != nil {
			return err
		}
	}
	if !h.hangsAt(tool, in.Step) {
		return nil
	}
	select {
	case <-time.After(hangs):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h Hands) hangsAt(tool string, step int) bool {
	name, at, some := strings.Cut(h.HangAt, ":")
	return name == tool && (!some || at == strconv.Itoa(step))
}

func (h Hands) note(ctx context.Context, began time.Time, in arguments) (string, error) {
	return "ok", h.effect(ctx, began, "append_note", in)
}

func (h Hands) restart(ctx context.Context, began time.Time, in arguments) (string, error) {
	return "restarted", h.effect(ctx, began, "restart_service", in)
}

// read gives a file's text, or tells the model that there is none.
func (h Hands) read(_ context.Context, _ time.Time, in arguments) (string, error) {
	root, err := os.OpenRoot(h.Files)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // it was only read
	text, err := root.ReadFile(filepath.Clean(in.Path))
	if err != nil {
		return "", &tools.Failure{Code: "not_found", Message: "no such file: " + in.Path}
	}
	return string(text), nil
}

func mean(_ context.Context, _ time.Time, in arguments) (string, error) {
	if len(in.Numbers) == 0 {
		return "", &tools.Failure{Code: "invalid", Message: "there are no numbers"}
	}
	sum := 0.0
	for _, x := range in.Numbers {
		sum += x
	}
	return fmt.Sprintf("n=%d mean=%.3f", len(in.Numbers), sum/float64(len(in.Numbers))), nil
}
