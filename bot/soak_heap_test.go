package bot_test

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// soakSample is after how many allocated bytes the soak remembers, on average, who
// allocated them.
const soakSample = 16 << 10

// measured is what is there between two rounds. The bot shares its process with the local
// Slack, the script of the model and the test, which keep everything that was ever said.
type measured struct {
	goroutines   int
	heap, around int64            // bytes that the bot holds, and that the others hold
	by           map[string]int64 // of the bot's, by where they were allocated
}

func measure() measured {
	for range 3 {
		runtime.GC()
		time.Sleep(100 * time.Millisecond)
	}
	m := measured{goroutines: runtime.NumGoroutine(), by: map[string]int64{}}
	for _, r := range allocations() {
		size := held(&r)
		place, others := allocated(r.Stack())
		if others {
			m.around += size
			continue
		}
		m.heap += size
		m.by[place] += size
	}
	return m
}

func allocations() []runtime.MemProfileRecord {
	for n := 1000; ; n *= 2 {
		all := make([]runtime.MemProfileRecord, n)
		if n, ok := runtime.MemProfile(all, false); ok {
			return all[:n]
		}
	}
}

// held is how much a sample stands for.
func held(r *runtime.MemProfileRecord) int64 {
	if r.InUseObjects() == 0 {
		return 0
	}
	size := float64(r.InUseBytes()) / float64(r.InUseObjects())
	return int64(float64(r.InUseBytes()) / (1 - math.Exp(-size/soakSample)))
}

// allocated says where a stack allocated, and whether it is of those around the bot.
func allocated(stack []uintptr) (place string, others bool) {
	var ours []string
	frames := runtime.CallersFrames(stack)
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		for _, part := range []string{"countersign/localslack", "countersign/internal/apptest.", "countersign/agent/llm/playbook.", "countersign/bot_test.", "testing.", "net/http.(*conn).serve"} {
			if strings.HasPrefix(f.Function, part) {
				return "", true
			}
		}
		if len(ours) < 3 && !strings.HasPrefix(f.Function, "runtime.") {
			ours = append(ours, f.Function)
		}
	}
	return strings.Join(ours, " < "), false
}

// grown are the places where most was added since an earlier measure.
func (m measured) grown(since measured) string {
	more := func(place string) int64 { return m.by[place] - since.by[place] }
	places := slices.SortedFunc(maps.Keys(m.by), func(a, b string) int { return int(more(b) - more(a)) })
	var lines []string
	for _, place := range places[:min(len(places), 15)] {
		lines = append(lines, fmt.Sprintf("%8d KiB %s", more(place)>>10, place))
	}
	return strings.Join(lines, "\n")
}
