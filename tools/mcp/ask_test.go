package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// With several calls under way nobody reads a question that may be another person's.
func TestQuestionDuringSeveralCalls(t *testing.T) {
	t.Parallel()
	s := &Server{cfg: withDefaults(Config{Name: "srv"}), masked: newMasker(Config{}), flights: map[string]*flight{}}
	ask := func(text string) {
		r, err := s.elicited(t.Context(), &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: text}})
		if err != nil || r.Action != "decline" {
			t.Error(r, err)
		}
	}
	ask("before")
	one := s.begin(tools.Call{}, "a")
	ask("which\u202E account?")
	two := s.begin(tools.Call{}, "b")
	ask("a secret of somebody?")
	first, second := s.end(one), s.end(two)
	if !strings.Contains(first, "«which⟨U+202E⟩ account?»") || strings.Contains(first+second, "secret of somebody") ||
		!strings.Contains(second, "not known for which") || strings.Contains(second, "account") {
		t.Errorf("%s\n--\n%s", first, second)
	}
	three := s.begin(tools.Call{}, "c")
	for range 2 * maxQuestions {
		ask(strings.Repeat("x", 2*questionRunes))
	}
	if text := s.end(three); strings.Count(text, "asks:") != maxQuestions || len(text) > maxQuestions*questionRunes*2 {
		t.Errorf("%d characters", len(text))
	}
}

// A server of the newer protocol ends the call with its questions. It is not called
// again with answers.
func TestQuestionInsteadOfAResult(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	var mu sync.Mutex
	count := 0
	l.add(&mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		count++
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "From which account?"}}}, nil
	})
	_, err := call(t, connect(t, l.config()), "srv_pay", `{}`)
	if text := wantFailure(t, err, "input_required"); !strings.Contains(text, "srv asks: «From which account?»") {
		t.Error(text)
	}
	mu.Lock()
	defer mu.Unlock()
	if count != 1 {
		t.Errorf("it was called %d times", count)
	}
}

// A server that asks for folders or a model gets an error, and the call goes on.
func TestRefused(t *testing.T) {
	t.Parallel()
	l := newLocal(nil)
	l.add(&mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, roots := req.Session.ListRoots(ctx, nil)                            //nolint:staticcheck // servers of older versions ask
		_, model := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{}) //nolint:staticcheck // servers of older versions ask
		if roots == nil || model == nil {
			return says("something was offered")(ctx, req)
		}
		return says("refused")(ctx, req)
	})
	if r, err := call(t, connect(t, l.config()), "srv_ask", `{}`); err != nil || r.Text != "refused" {
		t.Error(r.Text, err)
	}
}
