package playbook

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"sync/atomic"
	"time"
)

// Model is the name under which the scripted model is served.
const Model = "playbook"

// maxRequest bounds a request's body in bytes.
const maxRequest = 16 << 20

// Options change how the server behaves, not what it says.
type Options struct {
	Think time.Duration    // how long it takes before each reply, so that people can watch
	Now   func() time.Time // the time in replies; nil: time.Now
	// Fault spoils requests for tests: it is asked before each completion, with
	// the request's number since the server was made, from 1. Nil spoils none.
	// The header X-Playbook-Fault of a request goes before it.
	Fault func(n int, r *http.Request) Fault
}

// Server plays scenes. It is safe for use by several goroutines at once.
type Server struct {
	book  *book
	o     Options
	mux   *http.ServeMux
	count atomic.Int64
}

// New reads the scenes (the *.yaml of the folder, words.yaml among them) and
// serves them. A scene that cannot be played is an error that names it.
func New(scenes fs.FS, o Options) (*Server, error) {
	b, err := load(scenes)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{book: b, o: o, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("POST /v1/chat/completions", s.complete)
	return s, nil
}

// ServeHTTP serves the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Title is a request that the server knows, as a person would type it.
type Title struct {
	Scene    string // the scene's file, without extension
	Language string // en or zh
	Request  string
}

// Titles lists the requests of people that start a scene, in the order of the files.
func (s *Server) Titles() []Title {
	var all []Title
	for _, sc := range s.book.scenes {
		if sc.Unlisted {
			continue
		}
		all = append(all, Title{Scene: sc.name, Language: sc.Language, Request: sc.Title})
	}
	return all
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []map[string]any{{"id": Model, "object": "model", "owned_by": "countersign"}},
	})
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	n := int(s.count.Add(1))
	f := faultOf(r)
	if f.Kind == "" && s.o.Fault != nil {
		f = s.o.Fault(n, r)
	}
	var a ask
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&a); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request_error", "the body is not a chat completion request: "+err.Error())
		return
	}
	if msg := unpaired(a.Messages); msg != "" {
		writeError(w, http.StatusBadRequest, "invalid_request_error", msg)
		return
	}
	if !s.think(r) || f.instead(w, r) {
		return
	}
	l, err := s.book.next(a)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "scene_error", err.Error())
		return
	}
	s.reply(w, a, f.spoil(l), f)
}

// think waits; it says false when the client has gone.
func (s *Server) think(r *http.Request) bool {
	if s.o.Think <= 0 {
		return true
	}
	t := time.NewTimer(s.o.Think)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Server) reply(w http.ResponseWriter, a ask, l line, f Fault) {
	c := completion{
		ID:      fmt.Sprintf("chatcmpl-%d", len(a.Messages)),
		Created: s.o.Now().Unix(), Model: a.Model,
		Usage: count(a, l),
	}
	if a.Stream {
		stream(w, c, l, streaming{usage: a.StreamOptions.IncludeUsage, cut: f.Kind == CutStream})
		return
	}
	c.Object = "chat.completion"
	finish := finishOf(l)
	c.Choices = []choice{{Message: l.said(), FinishReason: &finish}}
	if f.Kind == CutStream {
		writeCut(w, c)
		return
	}
	writeJSON(w, http.StatusOK, c)
}

func finishOf(l line) string {
	if len(l.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (l line) said() *said {
	m := &said{Role: "assistant", ToolCalls: l.calls}
	if l.text != "" || len(l.calls) == 0 {
		m.Content = &l.text
	}
	return m
}

// unpaired refuses what a real provider refuses: a call without its result, or
// a result without its call.
func unpaired(all []message) string {
	open := map[string]bool{}
	for _, m := range all {
		if m.Role == "tool" {
			if !open[m.CallID] {
				return fmt.Sprintf("a tool message answers %q, which is no open call", m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 && m.Role != "system" {
			return "tool calls must be followed by tool messages for each of them"
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return "tool calls must be followed by tool messages for each of them"
	}
	return ""
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

func writeError(w http.ResponseWriter, status int, kind, msg string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": msg, "type": kind, "code": nil, "param": nil}})
}
