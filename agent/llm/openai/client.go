package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	api "github.com/sashabaranov/go-openai"

	"countersign/agent/llm"
	"countersign/internal/id"
)

// Content says what stands as content beside calls when the model wrote no text.
type Content string

// The ways to fill an empty content; servers disagree on what they accept.
const (
	ContentThought Content = ""      // the first call's thought, else a single space: accepted everywhere we know
	ContentNull    Content = "null"  // what OpenAI itself sends
	ContentEmpty   Content = "empty" // the empty string
	ContentOmit    Content = "omit"  // no content at all
)

// API is one of the two ways to ask OpenAI's models.
type API string

// The APIs.
const (
	Chat      API = "chat"
	Responses API = "responses"
)

// Config says which model is called and how.
type Config struct {
	BaseURL string            // up to and without "/chat/completions"; empty: OpenAI's
	Key     string            // secret; empty: none is sent
	Model   string            // as the server names it
	Timeout time.Duration     // of one attempt; 0: 60 s
	Headers map[string]string // sent beside ours

	API     API     // empty: Chat
	Window  int     // the model's context window in tokens; 0: not known
	Stream  bool    // ask for a stream, for proxies that cut silent connections; the reply is still whole
	Strict  bool    // send tool schemas in OpenAI's strict form, while the server takes it
	Content Content // beside calls without text

	Tries   int           // attempts of one Complete; 0: 3
	MaxWait time.Duration // longest Retry-After that is waited for; 0: 60 s. Longer ones are the caller's

	Client    *http.Client                               // its Transport is used; nil: a transport of our own
	Logger    *slog.Logger                               // nil: none
	NewCallID func() string                              // nine letters and digits; nil: random ones
	Sleep     func(context.Context, time.Duration) error // nil: a timer
}

// Defaults of Config.
const (
	defaultTimeout = 60 * time.Second
	defaultTries   = 3
	defaultMaxWait = 60 * time.Second
	defaultBaseURL = "https://api.openai.com/v1"
)

// Client is a model behind the API. It is safe for use by several goroutines at once.
type Client struct {
	c      Config
	http   *http.Client
	host   string // for messages; never the whole address, which may hold secrets
	openai bool   // the server is OpenAI's own

	mu      sync.Mutex
	habits  habits
	density float64 // tokens that the server counts for one of our estimate; 0: not known
}

var _ llm.Model = (*Client)(nil)

// New makes a client. It does not call the server.
func New(c Config) *Client {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/ ")
	for _, path := range []string{"/chat/completions", "/responses"} {
		c.BaseURL = strings.TrimSuffix(c.BaseURL, path)
	}
	c.Key = strings.TrimSpace(c.Key)
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
	}
	c.defaults()
	m := &Client{c: c, http: &http.Client{Transport: c.Client.Transport, CheckRedirect: noRedirects}}
	if u, err := url.Parse(c.BaseURL); err == nil {
		m.host = u.Host
	}
	m.openai = strings.HasSuffix(m.host, "api.openai.com")
	m.habits = habits{completionCap: m.openai || reasons(c.Model), strict: c.Strict, content: c.Content}
	return m
}

func (c *Config) defaults() {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Tries <= 0 {
		c.Tries = defaultTries
	}
	if c.MaxWait <= 0 {
		c.MaxWait = defaultMaxWait
	}
	if c.Client == nil {
		c.Client = &http.Client{Transport: transport()}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewCallID == nil {
		c.NewCallID = id.Call
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
}

func transport() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return http.DefaultTransport
}

// noRedirects: a POST that follows a redirect may arrive as a GET, or bring the
// key to another host.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Complete implements llm.Model. It tries again what is worth it, a few times;
// the usage of failed attempts is counted, and lowers the cap of those after.
func (m *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if n := m.tokens(&r); m.c.Window > 0 && n > m.c.Window-m.c.Window/roomToAnswer {
		return llm.Reply{}, &llm.Error{Kind: llm.Overflow, Message: fmt.Sprintf("the request has about %d tokens, and the model's window holds %d with the answer", n, m.c.Window)}
	}
	var spent llm.Usage
	for try := 1; ; try++ {
		reply, err := m.attempt(ctx, m.capped(r, spent))
		if err == nil {
			reply.Usage = spent.Plus(reply.Usage)
			return reply, nil
		}
		spent = spent.Plus(err.Usage)
		if wait, ok := m.again(ctx, err, try); !ok || r.MaxTokens > 0 && spent.Total() >= r.MaxTokens || m.c.Sleep(ctx, wait) != nil {
			err.Usage = spent
			return llm.Reply{}, err
		}
		m.c.Logger.InfoContext(ctx, "the model is called again", "host", m.host, "try", try+1, "kind", err.Kind, "reason", err.Message)
	}
}

// capped leaves a further attempt only what the attempts before did not use.
func (m *Client) capped(r llm.Request, spent llm.Usage) llm.Request {
	if r.MaxTokens > 0 {
		r.MaxTokens = max(1, r.MaxTokens-spent.Total())
		if m.c.Window > 0 {
			r.MaxTokens = max(1, min(r.MaxTokens, m.c.Window-m.tokens(&r)))
		}
	}
	return r
}

// attempt calls the server once, or once more at once when it refused a habit of
// ours that we can drop.
func (m *Client) attempt(ctx context.Context, r llm.Request) (reply llm.Reply, failed *llm.Error) {
	defer func() {
		if p := recover(); p != nil { // a reply must never end the process
			failed = &llm.Error{Kind: llm.Malformed, Message: "the model's reply could not be read", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	uncapped := false
	for range mostHabits {
		h := m.learned()
		h.noCap = h.noCap || uncapped
		reply, failed = m.call(ctx, r, h)
		switch {
		case failed == nil:
			m.learn(h)
			return reply, nil
		case failed.Kind == llm.Overflow && r.MaxTokens > 0 && !h.noCap:
			uncapped = true // many servers count the cap into the window
		case failed.Kind != llm.BadRequest || !m.unlearn(h, &r, failed.Message):
			return reply, failed
		}
	}
	return reply, failed
}

func (m *Client) call(ctx context.Context, r llm.Request, h habits) (llm.Reply, *llm.Error) {
	r.Messages = h.ordered(r.Messages)
	if m.c.API == Responses {
		return m.respond(ctx, r, h)
	}
	return m.chat(ctx, r, h)
}

// chat is one call of the chat completions API.
func (m *Client) chat(ctx context.Context, r llm.Request, h habits) (llm.Reply, *llm.Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.c.Timeout, errTimeout)
	defer cancel()
	x := &exchange{m: m, request: &r, habits: h}
	config := api.DefaultConfig(m.c.Key)
	config.BaseURL, config.HTTPClient = m.c.BaseURL, x
	response, err := api.NewClientWithConfig(config).CreateChatCompletion(ctx, m.outgoing(r, h))
	if err != nil {
		return llm.Reply{}, m.failure(ctx, x, err)
	}
	return m.reply(ctx, x, response)
}

var errTimeout = errors.New("the model did not answer in time")

// failure brings any error of an attempt into our form.
func (m *Client) failure(ctx context.Context, x *exchange, err error) *llm.Error {
	var ours *llm.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, api.ErrReasoningToolsRequireResponses):
		return &llm.Error{Kind: llm.Config, Message: "this model takes tools through the Responses API only; set model.api: responses", Err: err}
	case x.sent && x.status == 0:
		return m.unreached(ctx, err)
	case x.status != 0: // normalised, and still not readable
		return &llm.Error{Kind: llm.Malformed, Message: "the model's reply could not be read", Usage: x.usage, Err: err}
	}
	return &llm.Error{Kind: llm.BadRequest, Message: "the request could not be made: " + clip(m.clean(err.Error())), Err: err}
}

// again says whether another attempt is worth it, and after how long.
func (m *Client) again(ctx context.Context, err *llm.Error, try int) (time.Duration, bool) {
	if try >= m.c.Tries || ctx.Err() != nil {
		return 0, false
	}
	switch err.Kind {
	case llm.Malformed:
		return 0, try == 1 // once: it costs tokens, and agents can say more about it
	case llm.Overloaded:
	default:
		return 0, false
	}
	wait := pause(try)
	if err.RetryAfter > 0 {
		wait = err.RetryAfter
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return 0, false
	}
	return wait, err.RetryAfter <= m.c.MaxWait
}

// firstPause is the longest wait before the second attempt; it doubles.
const firstPause = time.Second

// pause is a wait with jitter, so that many clients do not come back at once.
func pause(try int) time.Duration {
	longest := firstPause << (try - 1)
	return longest/4 + rand.N(longest*3/4)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
