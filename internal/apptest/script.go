package apptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Script is a model that answers the n-th request of a conversation with the n-th
// turn, found by counting the assistant's messages, so that it survives every
// restart. After the last turn it says so.
type Script struct {
	Turns []Turn

	mu       sync.Mutex
	requests []Request
	times    []time.Time
}

// Turn is one reply: calls, or text.
type Turn struct {
	Text  string
	Calls []Call
	Read  int  // tokens of the prompt that it counts; 0: a hundred
	Cut   bool // it ended at the limit of tokens
	// From overrides the turn by what the request holds; nil: the turn as it is.
	From func(r Request) Turn
}

// Call is one tool call of a turn.
type Call struct {
	Name string
	Args string // JSON
}

// Request is what the model was asked, as far as tests look.
type Request struct {
	Messages []Message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Max      int               `json:"max_tokens"`
	MaxNew   int               `json:"max_completion_tokens"`
	Raw      string            `json:"-"`
}

// Message is one message of a request.
type Message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	CallID    string `json:"tool_call_id"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Says is a turn of text.
func Says(text string) Turn { return Turn{Text: text} }

// Calls is a turn of one call.
func Calls(name, args string) Turn { return Turn{Calls: []Call{{name, args}}} }

// Play makes a script of turns.
func Play(turns ...Turn) *Script { return &Script{Turns: turns} }

// Requests are all requests so far.
func (s *Script) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Times says when each request came.
func (s *Script) Times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.times...)
}

// Last is the latest request.
func (s *Script) Last() Request {
	all := s.Requests()
	if len(all) == 0 {
		return Request{}
	}
	return all[len(all)-1]
}

// ServeHTTP answers as an OpenAI-compatible server.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	var req Request
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &req) != nil {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	req.Raw = string(raw)
	n := 0
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	s.mu.Lock()
	s.requests, s.times = append(s.requests, req), append(s.times, time.Now())
	s.mu.Unlock()
	turn := Says("The script is over.")
	if n < len(s.Turns) {
		turn = s.Turns[n]
	}
	if turn.From != nil {
		turn = turn.From(req)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(turn.reply(n)) // the client is gone: nothing to tell
}

func (t Turn) reply(n int) map[string]any {
	message := map[string]any{"role": "assistant", "content": t.Text}
	reason := "stop"
	var calls []map[string]any
	for i, c := range t.Calls {
		calls = append(calls, map[string]any{
			"id": fmt.Sprintf("call%05d", n*100+i), "type": "function", "function": map[string]string{"name": c.Name, "arguments": c.Args},
		})
	}
	if calls != nil {
		message["tool_calls"], reason = calls, "tool_calls"
	}
	if t.Cut {
		reason = "length"
	}
	read := cmp.Or(t.Read, 100)
	return map[string]any{
		"id": "x", "object": "chat.completion", "model": "script",
		"choices": []map[string]any{{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   map[string]int{"prompt_tokens": read, "completion_tokens": 10, "total_tokens": read + 10},
	}
}
