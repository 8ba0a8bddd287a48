package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"

	"countersign/tools/outbound"
)

// maxAnswer is the largest answer in one piece; streams are bounded event by event.
const maxAnswer = 16 << 20

// roundTripper adds the declared headers, for their origin alone, and notes how far
// each message came.
type roundTripper struct {
	base    http.RoundTripper
	headers map[string]string
	origin  string
	life    context.Context // of the link: exchanges end with it
}

// RoundTrip implements http.RoundTripper.
func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme+"://"+req.URL.Host != rt.origin {
		return nil, outbound.ErrForbidden
	}
	ctx, cancel := context.WithCancel(req.Context())
	release := context.AfterFunc(rt.life, cancel)
	end := func() { release(); cancel() }
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		note(ctx, func(s *sending) { s.sent = true })
	}})
	resp, err := rt.base.RoundTrip(rt.prepared(req.Clone(ctx)))
	if err != nil {
		end()
		return nil, err
	}
	note(ctx, func(s *sending) { s.status = resp.StatusCode })
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	resp.Body = endingBody{resp.Body, end}
	return resp, nil
}

// prepared takes away what would let a transport send a request again.
func (rt *roundTripper) prepared(req *http.Request) *http.Request {
	req.GetBody = nil
	for name, value := range rt.headers {
		req.Header.Set(name, value)
	}
	return req
}

// endingBody frees the context with the body.
type endingBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
