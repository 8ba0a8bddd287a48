package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"
)

// sender sends one request, once.
type sender struct {
	private   bool
	roots     *x509.CertPool
	userAgent string
	maxBytes  int
}

// fallbackTimeout ends a request whose context has no deadline.
const fallbackTimeout = 30 * time.Second

func newSender(cfg Tool, opt Options) sender {
	s := sender{private: cfg.PrivateNetwork, roots: opt.Roots, userAgent: opt.UserAgent, maxBytes: cfg.MaxBytes}
	if s.userAgent == "" {
		s.userAgent = "countersign"
	}
	if s.maxBytes <= 0 {
		s.maxBytes = defaultMaxBytes
	}
	return s
}

// answer is what came back.
type answer struct {
	status  int
	headers http.Header
	body    []byte
	cut     bool // the body was longer than the limit
	broken  bool // the body broke off
}

// sendError is a request without an answer. sent says whether the service may have it.
type sendError struct {
	sent bool
	err  error
}

func (e *sendError) Error() string {
	if e.sent {
		return "the connection was lost before the answer came: " + e.err.Error()
	}
	return "the request could not be sent: " + e.err.Error()
}

func (e *sendError) Unwrap() error { return e.err }

// send performs one exchange on a connection of its own. Go's transport repeats a
// request only on a connection that it uses again, over HTTP/2, or from GetBody; none
// of the three is there. The environment's proxy is not used, as the check of the
// dialled address would then check the proxy.
func (s sender) send(ctx context.Context, f filled, headers http.Header) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, fallbackTimeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := s.request(ctx, f, headers)
	if err != nil {
		return answer{}, &sendError{err: errors.New("the address cannot be read")}
	}
	transport := s.transport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return answer{}, &sendError{sent: connected.Load(), err: plain(err)}
	}
	defer resp.Body.Close()
	return s.readAnswer(resp), nil
}

func (s sender) request(ctx context.Context, f filled, headers http.Header) (*http.Request, error) {
	var body io.Reader
	if f.body != nil {
		body = bytes.NewReader(f.body)
	}
	req, err := http.NewRequestWithContext(ctx, f.method, f.url, body)
	if err != nil {
		return nil, err
	}
	req.GetBody = nil
	req.Header.Set("User-Agent", s.userAgent)
	req.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.5")
	for name, values := range headers {
		req.Header[name] = slices.Clone(values)
	}
	if f.body == nil {
		req.Header.Del("Content-Type")
	}
	return req, nil
}

func (s sender) transport() *http.Transport {
	return &http.Transport{
		DialContext:            newDialer(s.private).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots},
		TLSHandshakeTimeout:    dialTimeout,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
		DisableKeepAlives:      true,
		DisableCompression:     true, // so that the byte limit is the limit
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func (s sender) readAnswer(resp *http.Response) answer {
	a := answer{status: resp.StatusCode, headers: resp.Header}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(s.maxBytes)+1))
	a.broken = err != nil
	if a.cut = len(body) > s.maxBytes; a.cut {
		body = body[:s.maxBytes]
	}
	a.body = body
	return a
}

// plain leaves out addresses and whatever else the libraries put into their errors.
func plain(err error) error {
	for _, known := range []error{errForbidden, errPrivate, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return kindOf(err)
}

// Kinds of failed exchanges.
var (
	errName     = errors.New("the host name is not known")
	errRefused  = errors.New("the service refused the connection or cannot be reached")
	errTrust    = errors.New("the service's certificate is not trusted")
	errExchange = errors.New("the exchange with the service failed")
)

func kindOf(err error) error {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errTrust
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return errRefused
	}
	return errExchange
}
