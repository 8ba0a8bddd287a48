package openai

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"countersign/agent/llm"
)

// maxAnswer bounds the bytes of an answer.
const maxAnswer = 16 << 20

// exchange is the HTTP client of one attempt: it corrects the request, reads the
// answer whole and hands go-openai a normal one. What go-openai would drop stays
// here until the reply is put together.
type exchange struct {
	m       *Client
	request *llm.Request
	habits  habits
	// responses: the other of the two APIs is spoken; its messages need no mending.
	responses bool

	sent   bool
	status int
	extras messageExtras
	usage  llm.Usage
	counts bool // the answer carries usage
}

// messageExtras are a message's parts beyond go-openai.
type messageExtras struct {
	message json.RawMessage
	calls   []json.RawMessage
}

// Do implements go-openai's HTTPDoer. An error of ours is an *llm.Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := x.prepare(req); err != nil {
		return nil, err
	}
	x.sent = true
	resp, err := x.m.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status = resp.StatusCode
	body, err := readAnswer(resp)
	body = unzipped(body)
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, x.m.refusal(resp, body)
	}
	if err != nil && !isStream(resp) {
		return nil, x.charged(x.m.broken(req.Context(), err))
	}
	normal, err := x.accept(resp, body)
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(normal)), int64(len(normal))
	return resp, nil
}

func (x *exchange) prepare(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	switch {
	case !x.responses:
		if body, err = x.corrected(body); err != nil {
			return err
		}
	case x.m.c.Stream: // go-openai would not send this to the call that gives a whole reply
		body = append([]byte(`{"stream":true,`), bytes.TrimPrefix(body, []byte("{"))...)
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = nil
	if x.m.c.Key != "" && strings.HasSuffix(x.m.host, ".azure.com") {
		req.Header.Set("Api-Key", x.m.c.Key) // Azure's own name for it
	}
	for k, v := range x.m.c.Headers {
		req.Header.Set(k, v)
	}
	return nil
}

// readAnswer reads an answer whole; of a stream, up to the event that ends it,
// since some servers leave the connection open after it.
func readAnswer(resp *http.Response) ([]byte, error) {
	limited := io.LimitReader(resp.Body, maxAnswer+1)
	if !isStream(resp) {
		return io.ReadAll(limited)
	}
	var all bytes.Buffer
	lines := bufio.NewReader(limited)
	for last := false; ; {
		line, err := lines.ReadBytes('\n')
		all.Write(line)
		field, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		value = strings.TrimSpace(value)
		last = last && field != "" || field == "event" && slices.Contains(lastEvents, value)
		if field == "data" && (value == streamEnd || last) || errors.Is(err, io.EOF) {
			return all.Bytes(), nil
		}
		if err != nil {
			return all.Bytes(), err
		}
	}
}

// lastEvents are the events of the Responses API after which no other comes.
var lastEvents = []string{"response.completed", "response.incomplete", "response.failed"}

func isStream(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// accept brings an answer with a good status into the normal form. What it calls
// itself is believed less than what it looks like: proxies answer anything.
func (x *exchange) accept(resp *http.Response, body []byte) ([]byte, error) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch {
	case len(body) > maxAnswer:
		return nil, &llm.Error{Kind: llm.Malformed, Message: "the model's answer is larger than any reply"}
	case len(trimmed) == 0:
		return nil, &llm.Error{Kind: llm.Overloaded, Message: "the model's server gave an empty answer"}
	case trimmed[0] == '<':
		return nil, x.m.page()
	case trimmed[0] != '{' && trimmed[0] != '[' && (isStream(resp) || looksStreamed(trimmed)):
		return x.streamed(resp, trimmed)
	}
	return x.normal(resp, trimmed)
}

// streamed reads a stream. Signs of life before an answer that is none are passed over.
func (x *exchange) streamed(resp *http.Response, body []byte) ([]byte, error) {
	for body[0] == ':' {
		_, after, _ := bytes.Cut(body, []byte("\n"))
		if body = bytes.TrimSpace(after); len(body) == 0 {
			return nil, x.charged(x.m.inBand(resp, errCut))
		}
	}
	switch body[0] {
	case '<':
		return nil, x.m.page()
	case '{', '[':
		return x.normal(resp, body)
	}
	join := fold
	if x.responses {
		join = foldResponse
	}
	folded, err := join(body)
	if err != nil {
		return nil, x.charged(x.m.inBand(resp, err))
	}
	return x.normal(resp, folded)
}

// charged adds what an answer that was cut on its way has cost: the provider has
// read the whole request.
func (x *exchange) charged(e *llm.Error) *llm.Error {
	if errors.Is(e.Err, errCut) || errors.Is(e.Err, io.ErrUnexpectedEOF) {
		e.Usage = llm.Usage{Prompt: x.request.Estimate(), Estimated: true}
	}
	return e
}

// unzipped is a body without a compression that its headers do not tell of.
func unzipped(body []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return body
	}
	return plain
}

func (x *exchange) normal(resp *http.Response, body []byte) ([]byte, error) {
	read := normalise
	if x.responses {
		read = normaliseResponse
	}
	n, err := read(body)
	x.usage, x.counts = n.usage, n.counts
	if err != nil {
		failed := x.m.inBand(resp, err)
		failed.Usage = n.usage
		return nil, failed
	}
	x.extras = n.extras
	return n.body, nil
}

func looksStreamed(body []byte) bool {
	for _, p := range []string{"data:", ":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(body, []byte(p)) {
			return true
		}
	}
	return false
}

// unreached sorts the troubles of a call that got no answer.
func (m *Client) unreached(ctx context.Context, err error) *llm.Error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address may hold secrets
	}
	var unknown *net.DNSError
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return &llm.Error{Kind: llm.Overloaded, Message: "the model did not answer within " + m.c.Timeout.String(), Err: errTimeout}
	case ctx.Err() != nil:
		return &llm.Error{Kind: llm.Overloaded, Message: "the call of the model was stopped", Err: ctx.Err()}
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return &llm.Error{Kind: llm.Config, Message: "there is no host " + m.host + "; check base_url", Err: err}
	case strings.Contains(err.Error(), "invalid header field"):
		return &llm.Error{Kind: llm.Config, Message: "the model's key holds characters that cannot be sent; check api_key", Err: err}
	case badCertificate(err), strings.Contains(err.Error(), "unsupported protocol"), strings.Contains(err.Error(), "HTTP response to HTTPS"):
		return &llm.Error{Kind: llm.Config, Message: "no secure connection to the model's server at " + m.host + "; check base_url", Err: err}
	}
	return &llm.Error{Kind: llm.Overloaded, Message: "the model's server at " + m.host + " could not be reached", Err: err}
}

// broken is an answer whose connection ended early.
func (m *Client) broken(ctx context.Context, err error) *llm.Error {
	if ctx.Err() != nil {
		return m.unreached(ctx, err)
	}
	return &llm.Error{Kind: llm.Overloaded, Message: "the model's answer was cut off on its way", Err: err}
}
