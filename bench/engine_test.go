package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/agent"
	"countersign/approvals"
)

// effects is a file of effects in memory.
type effects struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (e *effects) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.Write(line)
}

func (e *effects) lines() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Count(e.all.String(), "\n")
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for name, database := range databases() {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/queue=%t", name, queued), func(t *testing.T) {
				t.Parallel()
				happened := &effects{}
				e := open(t, Config{Database: database(t), Queue: queued, Hands: Hands{Effects: happened, Files: t.TempDir()}})
				play(t, e, happened)
			})
		}
	}
}

// play plays every scenario once, the countersigned one with either verdict.
func play(t *testing.T, e *Engine, happened *effects) {
	ctx := t.Context()
	must(t, Outcome{Done, "done after 12"})(e.Start(ctx, "calls", "calls noop 12"))
	must(t, Outcome{Done, "done after 3"})(e.Start(ctx, "notes", "calls append_note 3"))
	must(t, Outcome{Done, "done after 2"})(e.Start(ctx, "stats", "calls calculate_stats 2"))
	must(t, Outcome{Done, ""})(e.Start(ctx, "files", "calls read_file 1"))
	must(t, Outcome{Paused, ""})(e.Start(ctx, "yes", "restart"))
	must(t, Outcome{Paused, ""})(e.State(ctx, "yes"))
	must(t, Outcome{Paused, ""})(e.Recover(ctx, "yes"))
	if n := happened.lines(); n != 3 {
		t.Errorf("%d effects before the decision, want the notes alone", n)
	}
	must(t, Outcome{Done, "done after 1"})(e.Decide(ctx, "yes", approvals.Approve))
	must(t, Outcome{Conflict, ""})(e.Decide(ctx, "yes", approvals.Reject))
	must(t, Outcome{Done, "done after 1"})(e.State(ctx, "yes"))
	must(t, Outcome{Paused, ""})(e.Start(ctx, "no", "restart"))
	must(t, Outcome{Done, "rejected"})(e.Decide(ctx, "no", approvals.Reject))
	must(t, Outcome{Lost, ""})(e.Recover(ctx, "nobody"))
	if n := happened.lines(); n != 4 {
		t.Errorf("%d effects in the end, want 3 notes and 1 restart", n)
	}
}

// counting counts what the agent commits, by what it is for.
type counting struct {
	agent.Store
	all    int   // commits
	steps  int   // commits that take a run further
	leases int   // claims, and commits that give a lease back
	sizes  []int // of the changes, in bytes, in order
}

func (c *counting) Claim(ctx context.Context, run string, l agent.Lease, now time.Time) (*agent.Run, error) {
	c.leases++
	return c.Store.Claim(ctx, run, l, now)
}

func (c *counting) Commit(ctx context.Context, f agent.Fence, change agent.Change) (int64, error) {
	c.all++
	if change.Park || change.Yield {
		c.leases++
	} else {
		c.steps++
		text, err := json.Marshal(change)
		if err != nil {
			return 0, err
		}
		c.sizes = append(c.sizes, len(text))
	}
	return c.Store.Commit(ctx, f, change)
}

// commits plays one run of n calls and gives what was committed for it.
func commits(t *testing.T, tool string, n int) *counting {
	t.Helper()
	c := &counting{}
	e := open(t, Config{
		Database: databases()["sqlite"](t), Hands: Hands{Effects: &effects{}},
		Between: func(s agent.Store) agent.Store { c.Store = s; return c },
	})
	must(t, Outcome{Done, fmt.Sprintf("done after %d", n)})(e.Start(t.Context(), "x", fmt.Sprintf("calls %s %d", tool, n)))
	return c
}

// TestCommitsOfAStep: the turn with its call, and its result with the next state;
// one more before an effect. The start of the run adds one.
func TestCommitsOfAStep(t *testing.T) {
	t.Parallel()
	const n = 40
	for tool, each := range map[string]int{"noop": 2, "append_note": 3} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			c := commits(t, tool, n)
			if most := each*n + 1; c.steps > most {
				t.Errorf("%d commits for %d steps, want at most %d", c.steps, n, most)
			}
			if most := n/10 + 4; c.leases > most {
				t.Errorf("%d commits for leases, want at most %d", c.leases, most)
			}
		})
	}
}

// TestCommitsOfACountersignedRun: its begin, and its calls, which also give it back; then
// what is executed, what came of it, and the answer.
func TestCommitsOfACountersignedRun(t *testing.T) {
	t.Parallel()
	c := &counting{}
	e := open(t, Config{
		Database: databases()["sqlite"](t), Hands: Hands{Effects: &effects{}},
		Between: func(s agent.Store) agent.Store { c.Store = s; return c },
	})
	must(t, Outcome{Paused, ""})(e.Start(t.Context(), "x", "restart"))
	paused := c.all
	must(t, Outcome{Done, "done after 1"})(e.Decide(t.Context(), "x", approvals.Approve))
	if paused > 2 || c.all-paused > 3 {
		t.Errorf("%d commits until it waits and %d until its end, want 2 and 3", paused, c.all-paused)
	}
}

// TestChangesDoNotGrow: what a step writes does not depend on how many were before it.
//
// Row B22.
func TestChangesDoNotGrow(t *testing.T) {
	t.Parallel()
	c := commits(t, "append_note", 100)
	early, late := sum(c.sizes[15:45]), sum(c.sizes[len(c.sizes)-30:])
	if late > early*11/10 {
		t.Errorf("ten steps write %d bytes early in a run and %d late", early, late)
	}
}

func sum(sizes []int) (n int) {
	for _, s := range sizes {
		n += s
	}
	return n
}

// TestStepsDoNotGrow: what a step takes, measured as memory, is the same in a long
// run as in a short one. It runs alone, because the measure is the whole process's.
func TestStepsDoNotGrow(t *testing.T) {
	e := open(t, Config{Database: databases()["sqlite"](t)})
	each := func(name string, n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(t, Outcome{Status: Done})(e.Start(t.Context(), name, fmt.Sprintf("calls noop %d", n)))
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n+1)
	}
	each("warm", 10)
	short, long := each("short", 10), each("long", 100)
	t.Logf("%.0f kB a step of 10, %.0f kB of 100", short/1000, long/1000)
	if long > 1.5*short {
		t.Errorf("a step of a run of 100 takes %.1f times the memory of one of 10", long/short)
	}
}
