package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"countersign/tools"
)

// tool is one tool of a server, as it was listed at one time.
type tool struct {
	server *Server
	raw    *mcp.Tool
	spec   tools.Spec
	hash   string // of its contract
	hold   *hold  // nil: it may be called
}

// Spec implements tools.Tool.
func (t *tool) Spec() tools.Spec { return t.spec }

// Check implements tools.Guard: nobody is asked to countersign a call of a tool that
// is held.
func (t *tool) Check(context.Context, json.RawMessage) error {
	if f := t.refused(); f != nil {
		return f
	}
	return nil
}

// refused says why this tool may not be called; nil: it may.
func (t *tool) refused() *tools.Failure {
	if t.hold != nil {
		return t.hold.failure(t.server.cfg.Name, t.spec.Name)
	}
	if !t.server.current(t) {
		return &tools.Failure{Code: "contract_changed", Message: "The MCP server " + t.server.cfg.Name + " changed or removed its tool " +
			t.spec.Name + " a moment ago. Nothing was sent."}
	}
	return nil
}

// Call sends one tools/call, once. What the server answers is a result or a *Failure.
// Of a tool with effects, a connection that breaks and a deadline that passes are
// ordinary errors: it may have happened.
func (t *tool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	result, sent, err := t.try(ctx, c)
	if err != nil && !sent && ctx.Err() == nil {
		// The session was over before anything was written: a new one may do.
		result, _, err = t.try(ctx, c)
	}
	return result, err
}

// try makes the call on the session that there is. Once sent is true the server may
// have the call, and it is not made again.
func (t *tool) try(ctx context.Context, c tools.Call) (r tools.Result, sent bool, err error) {
	session, err := t.server.live(ctx)
	if err != nil {
		return r, true, err // there was patience enough
	}
	if f := t.refused(); f != nil { // after live: a new session may have brought a new contract
		return r, true, f
	}
	token := t.server.begin(c, t.spec.Name)
	params := &mcp.CallToolParams{Name: t.raw.Name, Arguments: c.Args}
	if len(c.Args) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	params.SetProgressToken(token)
	traced, way := withSending(ctx)
	answered, err := session.CallTool(traced, params)
	asked := t.server.end(token)
	if err == nil {
		r, err = t.judge(answered, asked)
		return r, true, err
	}
	sent, status := way.result()
	if _, ok := answer(err); ok {
		return r, true, t.denied(err, asked)
	}
	return r, sent, t.unanswered(ctx, lost{session: session, sent: sent, status: status, err: err})
}

// judge turns an answer into a result or a failure. Questions come last.
func (t *tool) judge(r *mcp.CallToolResult, asked string) (tools.Result, error) {
	t.server.answered()
	if r.NeedsInput() {
		return tools.Result{}, &tools.Failure{Code: "input_required", Message: t.server.wanted(r)}
	}
	text := t.server.masked.mask(textOf(r))
	if r.IsError {
		return tools.Result{}, &tools.Failure{Code: "tool_error", Message: withQuestion(cut("The tool "+t.spec.Name+" answered that it failed: "+text, failureRunes), asked)}
	}
	result := tools.Result{
		Text: withQuestion(text, asked), Summary: oneLine(text, 200), Sources: []string{"mcp:" + t.server.cfg.Name + "/" + t.raw.Name},
	}
	if t.spec.Effects {
		result.Effect = "called " + oneLine(t.raw.Name, 100) + " of " + t.server.cfg.Name
	}
	return result, nil
}

// failureRunes bounds what a failure quotes of the server.
const failureRunes = 2000

func withQuestion(text, asked string) string {
	if asked == "" {
		return text
	}
	return text + "\n" + asked
}

// wanted is for servers that end a call with questions instead of asking during it.
// The call is not sent again with answers, so that it did not take place.
func (s *Server) wanted(r *mcp.CallToolResult) string {
	f := &flight{}
	for _, request := range r.InputRequests {
		if p, ok := request.(*mcp.ElicitParams); ok && len(f.questions) < maxQuestions {
			f.questions = append(f.questions, s.masked.mask(question(p)))
		}
	}
	return withQuestion("The MCP server "+s.cfg.Name+" wants more before it does the call, which was not made.", s.asked(f))
}

// denied is a call that the server answered with an error of the protocol.
func (t *tool) denied(err error, asked string) *tools.Failure {
	t.server.answered()
	e, _ := answer(err)
	text := fmt.Sprintf("The MCP server %s refused the call: %s (code %d)", t.server.cfg.Name, draw(e.Message), e.Code)
	return &tools.Failure{Code: "server_error", Message: withQuestion(t.server.masked.mask(cut(text, failureRunes)), asked)}
}

// lost is how a call without an answer ended.
type lost struct {
	session *mcp.ClientSession
	sent    bool
	status  int // of HTTP
	err     error
}

// unanswered sorts calls without an answer. The session is given up if nothing could
// be sent on it, and looked at otherwise.
func (t *tool) unanswered(ctx context.Context, l lost) error {
	s := t.server
	why := s.plain(l.err)
	if ended := ctx.Err(); ended != nil {
		why = ended.Error()
	}
	if !l.sent && ctx.Err() == nil {
		s.drop(l.session, l.err)
	} else {
		s.suspect(l.session)
	}
	switch {
	case l.status >= 400 && l.status < 500:
		return &tools.Failure{Code: "http_" + strconv.Itoa(l.status), Message: fmt.Sprintf("The MCP server %s refused the request with HTTP status %d.", s.cfg.Name, l.status)}
	case !l.sent:
		return s.unavailable(why)
	case t.spec.Effects:
		return &LostError{Server: s.cfg.Name, Reason: why, cause: ctx.Err()}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &tools.Failure{Code: "timeout", Message: "The MCP server " + s.cfg.Name + " did not answer in time."}
	}
	return &tools.Failure{Code: "unavailable", Message: "The connection to the MCP server " + s.cfg.Name + " broke: " + why + "."}
}

// LostError is a call with effects that was sent and not answered: it may have
// happened or not.
type LostError struct {
	Server string
	Reason string // without secrets
	cause  error  // of the context, nil when the connection broke
}

// Error implements error.
func (e *LostError) Error() string {
	return "the MCP server " + e.Server + " did not answer the call (" + e.Reason + "); it may have happened or not"
}

// Unwrap gives context.Canceled or context.DeadlineExceeded where that was the end.
func (e *LostError) Unwrap() error { return e.cause }

// answered notes a sign of life.
func (s *Server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
}

// suspect looks, in the background, whether a session still answers after a call on it
// did not end well. While other calls run it does not: a busy server may be slow to
// answer, and giving it up would break them. Their ends will look again.
func (s *Server) suspect(session *mcp.ClientSession) {
	s.mu.Lock()
	busy := len(s.flights) > 0
	s.mu.Unlock()
	if busy {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.pace.connect)
		defer cancel()
		s.tried(ctx, session)
	}()
}
