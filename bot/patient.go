package bot

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patient is the transport of the Web API's client. It never calls a method again
// before the Retry-After of its last answer is over: such a call is answered here,
// with what is left to wait. It also compares Slack's clock with ours.
type patient struct {
	next  http.RoundTripper
	base  string           // path under which the methods are
	clock func() time.Time // real time: Slack waits in it

	mu    sync.Mutex
	until map[string]time.Time
	skew  time.Duration
	dated bool
}

func newPatient(next http.RoundTripper, address string) *patient {
	if next == nil {
		next = http.DefaultTransport
	}
	base := "/api/"
	if u, err := url.Parse(address); err == nil && address != "" {
		base = u.Path
	}
	return &patient{next: next, base: base, clock: time.Now, until: map[string]time.Time{}}
}

// RoundTrip asks Slack, unless it asked for patience.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	method, ok := strings.CutPrefix(r.URL.Path, p.base)
	if !ok || strings.Contains(method, "/") {
		return p.next.RoundTrip(r)
	}
	if wait := p.wait(method); wait > 0 {
		if r.Body != nil {
			_ = r.Body.Close() // it is not sent
		}
		return limited(r, wait), nil
	}
	began := p.clock()
	answer, err := p.next.RoundTrip(r)
	if err == nil {
		p.learn(method, answer, began)
	}
	return answer, err
}

// wait is how long the method may not be called; 0: it may.
func (p *patient) wait(method string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until[method].Sub(p.clock())
}

func (p *patient) learn(method string, answer *http.Response, began time.Time) {
	now := p.clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && answer.StatusCode == http.StatusTooManyRequests {
		p.until[method] = later(p.until[method], now.Add(time.Duration(s)*time.Second)) // of several channels, the longest holds
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		middle := began.Add(now.Sub(began) / 2)
		p.skew, p.dated = middle.Sub(date.Add(time.Second/2)), true // the header has whole seconds
	}
}

// limited is Slack's answer to a call that came too early, without asking it.
func limited(r *http.Request, wait time.Duration) *http.Response {
	seconds := int(wait/time.Second) + 1
	return &http.Response{
		Status: "429 Too Many Requests", StatusCode: http.StatusTooManyRequests, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}}, Body: http.NoBody, Request: r,
	}
}

// Skew is how far our clock is ahead of Slack's, to within a second, from its latest
// answer; false before the first.
func (e *Edge) Skew() (time.Duration, bool) {
	e.line.mu.Lock()
	defer e.line.mu.Unlock()
	return e.line.skew, e.line.dated
}
