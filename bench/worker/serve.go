package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"countersign/approvals"
	"countersign/bench"
)

// command is one line from the driver.
type command struct {
	Op       string `json:"op"`
	Seq      int    `json:"seq"`
	ID       string `json:"id"`
	Scenario string `json:"scenario"`
	N        int    `json:"n"`
	Decision string `json:"decision"`
}

// reply is one line back.
type reply struct {
	Seq    int          `json:"seq"`
	ID     string       `json:"id,omitempty"`
	Status bench.Status `json:"status"`
	Final  string       `json:"final,omitempty"`
	Err    string       `json:"err,omitempty"`
}

// broken is the status of a command that could not be carried out.
const broken bench.Status = "error"

// longest is how many bytes a command may have.
const longest = 1 << 20

// server answers commands, all at the same time.
type server struct {
	engine *bench.Engine
	mu     sync.Mutex // of the output
	out    *json.Encoder
	failed error // the output is gone
}

// serve answers until the input ends, or says quit. What is still being done then
// is left as it is: the database has it.
func (s *server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.out = json.NewEncoder(out)
	s.send(map[string]bool{"ready": true})
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			s.send(reply{Status: broken, Err: err.Error()})
			continue
		}
		if c.Op == "quit" {
			break
		}
		go func() { s.send(s.answer(ctx, c)) }()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read commands: %w", err)
	}
	return s.failed
}

func (s *server) send(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.out.Encode(v); err != nil {
		s.failed = err
	}
}

func (s *server) answer(ctx context.Context, c command) reply {
	out, err := s.do(ctx, c)
	r := reply{Seq: c.Seq, ID: c.ID, Status: out.Status, Final: out.Final}
	if err != nil {
		r.Status, r.Err = broken, err.Error()
	}
	return r
}

func (s *server) do(ctx context.Context, c command) (bench.Outcome, error) {
	switch c.Op {
	case "start":
		return s.engine.Start(ctx, c.ID, request(c))
	case "decide":
		return s.decide(ctx, c)
	case "recover":
		return s.engine.Recover(ctx, c.ID)
	case "state":
		return s.engine.State(ctx, c.ID)
	case "gc":
		runtime.GC()
		debug.FreeOSMemory()
		return bench.Outcome{Status: bench.Done}, nil
	}
	return bench.Outcome{}, fmt.Errorf("there is no command %q", c.Op)
}

func (s *server) decide(ctx context.Context, c command) (bench.Outcome, error) {
	v := map[string]approvals.Verdict{"approve": approvals.Approve, "reject": approvals.Reject}[c.Decision]
	if v == "" {
		return bench.Outcome{}, fmt.Errorf("there is no decision %q", c.Decision)
	}
	return s.engine.Decide(ctx, c.ID, v)
}

// request is the first message of a run: the scripted model reads its part in it.
func request(c command) string {
	switch c.Scenario {
	case "S1", "S1E":
		return fmt.Sprintf("[[%s N=%d id=%s]] Run the job.", c.Scenario, c.N, c.ID)
	}
	return fmt.Sprintf("[[%s id=%s]] Run the job.", c.Scenario, c.ID)
}
