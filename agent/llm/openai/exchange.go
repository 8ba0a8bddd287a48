package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
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
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, x.m.refusal(resp, body)
	}
	if err != nil && !isStream(resp) {
		return nil, x.m.broken(req.Context(), err)
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
	if !x.responses {
		if body, err = x.corrected(body); err != nil {
			return err
		}
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
	for {
		line, err := lines.ReadBytes('\n')
		all.Write(line)
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok && string(bytes.TrimSpace(data)) == "[DONE]" || errors.Is(err, io.EOF) {
			return all.Bytes(), nil
		}
		if err != nil {
			return all.Bytes(), err
		}
	}
}

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
		folded, err := fold(trimmed)
		if err != nil {
			return nil, x.m.inBand(resp, err)
		}
		trimmed = folded
	}
	return x.normal(resp, trimmed)
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
	for _, p := range []string{"data:", ":", "event:", "id:"} {
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
