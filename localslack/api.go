package localslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// method is one Web API method.
type method struct {
	run      func(*Server, call) (reply, error)
	scope    string // of the token; empty: none needed
	tier     tier
	appToken bool // takes the app-level token, in the header only
	open     bool // needs no token at all
}

// call is one call of a method, checked for token, scope and rate.
type call struct {
	ctx    context.Context
	method string
	args   args
}

// reply is the body of an answer; "ok" is added.
type reply map[string]any

// answer is what goes out for one call.
type answer struct {
	status     int
	body       reply
	raw        string // instead of body
	retryAfter time.Duration
	err        string
	warnings   []string
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	name, who := strings.TrimPrefix(r.URL.Path, "/api/"), caller{conn: r.RemoteAddr, at: s.wall()}
	a, warn, err := readArgs(r)
	var out answer
	switch {
	case err != nil:
		out = failed(err)
	default:
		out = s.answerCall(r, who, name, a)
	}
	if warn != "" {
		out.warnings = append(out.warnings, warn)
	}
	s.finish(w, name, a, out)
}

// answerCall plays the faults around the call itself.
func (s *Server) answerCall(r *http.Request, who caller, name string, a args) answer {
	f, ok := s.faults.api(name)
	if ok && f.Delay > 0 && !pause(r.Context(), f.Delay) {
		return answer{}
	}
	if ok && !f.AfterStore && f.breaks() {
		return s.playFault(r.Context(), who, name, f)
	}
	out := s.dispatch(r, who, name, a)
	if ok && f.AfterStore && out.err == "" {
		return s.playFault(r.Context(), who, name, f)
	}
	return out
}

// pause waits on the wall clock unless the caller goes away.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (s *Server) dispatch(r *http.Request, who caller, name string, a args) answer {
	m, ok := s.methods[name]
	if !ok {
		out := failed(refuse("unknown_method"))
		out.body["req_method"] = name
		return out
	}
	if err := s.authorize(r, m, a); err != nil {
		return failed(err)
	}
	if wait := s.overLimit(who, name, m, a); wait > 0 {
		out := failed(refuse("ratelimited"))
		out.status, out.retryAfter = http.StatusTooManyRequests, wait
		return out
	}
	body, err := m.run(s, call{ctx: r.Context(), method: name, args: a})
	if err != nil {
		return failed(err)
	}
	out := answer{status: http.StatusOK, body: body}
	if warning, ok := body["warning"].(string); ok {
		out.warnings = append(out.warnings, warning)
	}
	return out
}

func failed(err error) answer {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: "internal_error", Messages: []string{err.Error()}}
	}
	body := reply{"ok": false, "error": e.Code}
	if e.Needed != "" {
		body["needed"], body["provided"] = e.Needed, e.Provided
	}
	if len(e.Messages) > 0 {
		body["response_metadata"] = reply{"messages": e.Messages}
		body["errors"] = e.Messages
	}
	return answer{status: http.StatusOK, body: body, err: e.Code}
}

// authorize checks the token and its scopes.
func (s *Server) authorize(r *http.Request, m method, a args) error {
	header, hasHeader := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Query().Get("token") != "" {
		s.violate(ViolationToken, r.URL.Path)
	}
	token := header
	if !hasHeader && !m.appToken {
		token = a.str("token")
	}
	delete(a, "token")
	if m.open {
		return nil
	}
	if err := s.checkToken(token, m.appToken); err != nil {
		return err
	}
	return s.checkScope(m)
}

func (s *Server) checkToken(token string, app bool) error {
	bot, own := s.tokens()
	want, other := bot, "xapp-"
	if app {
		want, other = own, "xoxb-"
	}
	switch {
	case token == "":
		return refuse("not_authed")
	case s.faults.tokenError() != "":
		return refuse(s.faults.tokenError())
	case token == want:
		return nil
	case strings.HasPrefix(token, other):
		return refuse("not_allowed_token_type")
	}
	return refuse("invalid_auth")
}

// checkScope lets a method pass when the token has one of its scopes, which
// are separated by bars.
func (s *Server) checkScope(m method) error {
	have := s.scopes()
	if m.appToken {
		have = s.cfg.App.AppScopes
	}
	if m.scope == "" || slices.ContainsFunc(strings.Split(m.scope, "|"), func(x string) bool { return slices.Contains(have, x) }) {
		return nil
	}
	needed := strings.Split(m.scope, "|")[0]
	s.violate(ViolationScope, needed)
	return &Error{Code: "missing_scope", Needed: needed, Provided: strings.Join(have, ",")}
}

// needScope is checkScope for a scope that depends on the arguments.
func (s *Server) needScope(scope string) error { return s.checkScope(method{scope: scope}) }

// overLimit is how long the caller has to wait. Who was told so and calls all the same
// breaks a rule.
func (s *Server) overLimit(who caller, name string, m method, a args) time.Duration {
	t, key := m.tier, limitKey(name, m, a)
	if s.cfg.Limits.RestrictedHistory && (name == "conversations.history" || name == "conversations.replies") {
		t = oneAMin
	}
	limit, now := key, s.wall()
	wait, early := s.limiter.take(limit, t, now)
	if key != name && wait == 0 { // a 429 may also have been for the whole method
		limit = name
		wait, early = s.limiter.take(limit, unlimited, now)
	}
	if wait == 0 {
		return 0
	}
	if early && s.heard.by(limit, who) {
		s.violate(ViolationRetryAfter, key)
	}
	s.heard.note(limit, who, now, !early)
	return wait
}

// limitKey is what is counted together: the method, for posts the channel too.
func limitKey(name string, m method, a args) string {
	if m.tier.perChannel {
		return name + " " + a.str("channel")
	}
	return name
}

// finish writes the answer and keeps its record.
func (s *Server) finish(w http.ResponseWriter, name string, a args, out answer) {
	s.records.call(Call{
		At: s.cfg.Now(), Method: name, Args: a.plain(), Status: out.status, Error: out.err,
		Warning: strings.Join(out.warnings, ","), RetryAfter: out.retryAfter,
	})
	s.ws.hub.publish(Change{Kind: ChangeCall})
	if out.status == 0 {
		panic(http.ErrAbortHandler) // cuts the connection: the answer is lost
	}
	w.Header().Set("X-OAuth-Scopes", strings.Join(s.scopes(), ","))
	if skew := s.faults.dateSkew(); skew != 0 {
		w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
	}
	if out.retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(out.retryAfter.Seconds())))
	}
	if out.raw != "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(out.status)
		fmt.Fprint(w, out.raw)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(out.status)
	_ = json.NewEncoder(w).Encode(out.withWarnings()) // the client has gone: nobody to tell
}

func (a answer) withWarnings() reply {
	if a.body == nil {
		a.body = reply{}
	}
	if _, set := a.body["ok"]; !set {
		a.body["ok"] = true
	}
	if len(a.warnings) > 0 {
		a.body["warning"] = strings.Join(a.warnings, ",")
		meta, _ := a.body["response_metadata"].(reply)
		if meta == nil {
			meta = reply{}
			a.body["response_metadata"] = meta
		}
		meta["warnings"] = a.warnings
	}
	return a.body
}

func (a args) plain() map[string]string {
	out := make(map[string]string, len(a))
	for k := range a {
		if k != "token" {
			out[k] = a.str(k)
		}
	}
	return out
}
