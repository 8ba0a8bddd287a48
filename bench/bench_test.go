package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

// eachDatabase measures on both.
func eachDatabase(b *testing.B, measure func(b *testing.B, database string)) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) { measure(b, databases()[name](b)) })
	}
}

// BenchmarkStep is one step of runs of several lengths: the model is a function.
func BenchmarkStep(b *testing.B) {
	eachDatabase(b, func(b *testing.B, database string) {
		e := open(b, Config{Database: database})
		for _, n := range []int{1, 10, 50, 100} {
			b.Run(fmt.Sprint(n), func(b *testing.B) { steps(b, e, fmt.Sprintf("calls noop %d", n), n+1) })
		}
	})
}

// BenchmarkEffect is one step whose call has an effect.
func BenchmarkEffect(b *testing.B) {
	eachDatabase(b, func(b *testing.B, database string) {
		steps(b, open(b, Config{Database: database, Hands: Hands{Effects: &effects{}}}), "calls append_note 10", 11)
	})
}

// BenchmarkRequest is one step with the model behind the client that the program
// uses, on loopback: the request grows with the run.
func BenchmarkRequest(b *testing.B) {
	model := httptest.NewServer(http.HandlerFunc(answer))
	b.Cleanup(model.Close)
	e := open(b, Config{Database: databases()["sqlite"](b), ModelURL: model.URL})
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { steps(b, e, fmt.Sprintf("calls noop %d", n), n+1) })
	}
}

// answer plays "calls noop N" over HTTP.
func answer(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	if _, err := io.Copy(&body, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, done, n := body.String(), strings.Count(body.String(), `"role":"tool"`), 0
	if _, err := fmt.Sscanf(text[strings.Index(text, "calls noop"):], "calls noop %d", &n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	message := fmt.Sprintf(`{"role":"assistant","content":"done after %d"}`, done)
	if done < n {
		message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call%05d","type":"function","function":{"name":"noop","arguments":"{\"step\":%d}"}}]}`, done, done+1)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"scripted","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, message)
}

// steps plays whole runs and reports the time of one turn.
func steps(b *testing.B, e *Engine, request string, turns int) {
	b.ReportAllocs()
	began := time.Now()
	for i := 0; b.Loop(); i++ {
		must(b, Outcome{Status: Done})(e.Start(b.Context(), fmt.Sprintf("%s/%d", b.Name(), began.UnixNano()+int64(i)), request))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(turns), "µs/step")
}

// paused brings runs to where they wait for a person.
func paused(b *testing.B, e *Engine, i int) string {
	name := fmt.Sprintf("%s/%d/%d", b.Name(), b.N, i)
	must(b, Outcome{Status: Paused})(e.Start(b.Context(), name, "restart"))
	return name
}

// BenchmarkResume is a decision until the answer; beside it is reported how long it
// takes until the tool runs.
func BenchmarkResume(b *testing.B) {
	eachDatabase(b, func(b *testing.B, database string) {
		ran := &stamp{}
		e := open(b, Config{Database: database, Hands: Hands{Effects: ran}})
		var toTool time.Duration
		for i := range b.N {
			b.StopTimer()
			name := paused(b, e, i)
			b.StartTimer()
			began := time.Now()
			must(b, Outcome{Status: Done})(e.Decide(b.Context(), name, approvals.Approve))
			toTool += ran.at.Sub(began)
		}
		b.ReportMetric(float64(toTool.Microseconds())/float64(b.N), "µs/tool")
	})
}

// stamp notes when an effect happened.
type stamp struct{ at time.Time }

func (s *stamp) Write(line []byte) (int, error) {
	s.at = time.Now()
	return len(line), nil
}

// BenchmarkDecision is a verdict alone: until it is committed and may be told.
func BenchmarkDecision(b *testing.B) {
	eachDatabase(b, func(b *testing.B, database string) {
		e := open(b, Config{Database: database})
		for i := range b.N {
			b.StopTimer()
			attempt, _, err := e.attempt(b.Context(), paused(b, e, i))
			if err != nil {
				b.Fatal(err)
			}
			attempt.Verdict = approvals.Approve
			b.StartTimer()
			if out, err := e.door.Decide(b.Context(), attempt); err != nil || out.Refused != "" {
				b.Fatal(out, err)
			}
		}
	})
}
