package app_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"countersign/internal/apptest"
	"countersign/internal/tracing"
	"countersign/localslack/slacktest"
)

// A run that is approved after a restart is one trace, and nothing that people, the
// model or tools said is in it.
func TestOneTraceAcrossThePause(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o apptest.Options) {
		seen := tracetest.NewSpanRecorder()
		o.Traces = tracing.Provider(seen, "test")
		s := stageOf(t, apptest.New(t, o))
		first := s.Run()
		s.asks("delete doc_42")
		card := s.Slack.Expect(slacktest.Button("approval_approve"))
		s.Stop(first)
		s.Run()
		s.Press(s.mgr, card, "approval_approve")
		s.Slack.Expect(answer)
		s.Until("the last span", func() bool { return count(seen.Ended(), "run") >= 2 && count(seen.Ended(), "approval wait") == 1 })
		spans := seen.Ended()
		ids := map[trace.TraceID]bool{}
		for _, span := range spans {
			ids[span.SpanContext().TraceID()] = true
			for _, a := range span.Attributes() {
				if strings.Contains(a.Value.String(), "doc_42") {
					t.Errorf("span %s says %s=%s", span.Name(), a.Key, a.Value.String())
				}
			}
		}
		if len(ids) != 1 {
			t.Errorf("the run is %d traces", len(ids))
			for _, span := range spans {
				t.Log(span.SpanContext().TraceID(), span.Name(), span.Parent().IsValid())
			}
		}
		for name, least := range map[string]int{"execute_tool delete_document": 1, "approval wait": 1, "chat": 2, "invoke_agent": 1} {
			if got := count(spans, name); got < least {
				t.Errorf("%d spans %q, not %d or more", got, name, least)
			}
		}
	})
}

func count(spans []sdk.ReadOnlySpan, name string) int {
	n := 0
	for _, s := range spans {
		if strings.HasPrefix(s.Name(), name) {
			n++
		}
	}
	return n
}

// notebook keeps what is logged.
type notebook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps it.
func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// The log at info level names runs and approvals, and holds neither secrets nor what
// anybody said.
func TestTheLogKeepsSecretsAndWordsToItself(t *testing.T) {
	t.Parallel()
	log := &notebook{}
	o := apptest.Options{Log: log}
	s := start(t, o)
	s.asks("delete doc_42 because zanzibar")
	card := s.Slack.Expect(slacktest.Button("approval_approve"))
	s.Press(s.ana, card, "approval_approve") // refused
	s.Press(s.mgr, card, "approval_approve")
	s.Slack.Expect(answer)
	s.Until("the log of the end", func() bool { return strings.Contains(log.String(), "run ended") })
	text := log.String()
	for _, want := range []string{"run=r", "approval=a"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	hidden := []string{"zanzibar", "doc_42"}
	_, env := s.Settings()
	for name, value := range env {
		if strings.HasSuffix(name, "_TOKEN") {
			hidden = append(hidden, value)
		}
	}
	for _, h := range hidden {
		if strings.Contains(text, h) {
			t.Errorf("the log holds %q:\n%s", h, text)
		}
	}
}
