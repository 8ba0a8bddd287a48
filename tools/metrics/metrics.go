// Package metrics asks a Prometheus server. A query is a read: one request to the
// declared address, without redirects, bounded in time, bytes, series and points. What
// comes back is text and a table for the model and, over a range of time, a chart for
// people. Names and labels are other people's words and are drawn as data.
package metrics

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"countersign/tools"
	"countersign/tools/outbound"
)

// Config declares the server.
type Config struct {
	URL      string            // its base address; private ones are allowed, credentials belong into Headers
	Headers  map[string]string // sent with each query; may hold secrets
	Roles    []string          // who may ask for it
	Channels []string          // where it may be asked for
	Risk     tools.Risk        // empty: low
	Private  bool              // its results are not for the channel
	Egress   *bool             // queries leave the house; nil: unless the address is a private one
	Timeout  time.Duration     // of a query; 0: 10 s
	Roots    *x509.CertPool    // trusted certificate authorities; nil: the system's
	Now      func() time.Time  // nil: time.Now
}

// Bounds of one query.
const (
	defaultTimeout = 10 * time.Second
	maxBytes       = 4 << 20
	maxQuery       = 4000 // characters
	maxSeries      = 50   // in a table
	maxPoints      = 1000 // of one series
	maxRange       = 400 * 24 * time.Hour
)

// input is what the model fills in.
type input struct {
	Query string `json:"query" jsonschema:"PromQL expression, for example sum by (job) (rate(http_requests_total[5m]))"`
	Range string `json:"range,omitempty" jsonschema:"Look back this long from at and show how the value moved, such as 30m, 6h or 7d; left out: the value at one moment"`
	Step  string `json:"step,omitempty" jsonschema:"With range: time between two points, such as 1m; left out: chosen to fit"`
	At    string `json:"at,omitempty" jsonschema:"The moment, or the end of the range: RFC 3339 like 2026-01-31T15:04:05Z, or Unix seconds; left out: now"`
}

// server asks one Prometheus.
type server struct {
	base    *url.URL
	headers map[string]string
	client  *http.Client
	timeout time.Duration
	now     func() time.Time
}

// New makes the tool query_metrics. Nothing is sent.
func New(cfg Config) (tools.Tool, error) {
	base, err := outbound.Address(cfg.URL)
	if err == nil && (base.RawQuery != "" || base.Fragment != "") {
		err = errors.New("it must not have a query")
	}
	if err != nil {
		return nil, fmt.Errorf("address of the Prometheus server: %w", err)
	}
	s := &server{base: base, headers: cfg.Headers, client: outbound.Client(outbound.Transport(cfg.Roots)), timeout: cfg.Timeout, now: cfg.Now}
	if s.timeout <= 0 {
		s.timeout = defaultTimeout
	}
	if s.now == nil {
		s.now = time.Now
	}
	return tools.New(specOf(cfg, base), func(ctx context.Context, _ tools.Call, in input) (tools.Result, error) { return s.run(ctx, in) },
		tools.WithCheck(func(_ context.Context, in input) error { _, err := s.plan(in); return err }))
}

func specOf(cfg Config, base *url.URL) tools.Spec {
	risk := cfg.Risk
	if risk == "" {
		risk = tools.Low
	}
	egress := !inHouse(base.Hostname())
	if cfg.Egress != nil {
		egress = *cfg.Egress
	}
	return tools.Spec{
		Name:        "query_metrics",
		Description: "Asks Prometheus with a PromQL query: the value at one moment, or with range how it moved. People see a chart of a range.",
		Risk:        risk, Effects: risk != tools.Low, Parallel: true, Private: cfg.Private, Egress: egress,
		Roles: cfg.Roles, Channels: cfg.Channels, Timeout: cfg.Timeout,
	}
}

// houseDomains end the names that exist only inside of a network: RFC 6762, RFC 8375,
// RFC 9476 and the name that ICANN reserved for private use; and what Kubernetes says.
var houseDomains = []string{".local", ".home.arpa", ".internal", ".svc", ".localhost"}

// inHouse says whether a host is surely not outside.
func inHouse(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsPrivate() || a.IsLoopback()
	}
	for _, domain := range houseDomains {
		if strings.HasSuffix(strings.ToLower(host), domain) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}

// plan is a query that can be sent.
type plan struct {
	query    string
	from, at time.Time
	step     time.Duration // 0: at one moment
}

// plan reads the arguments. The error is a *tools.Failure that names the argument.
func (s *server) plan(in input) (plan, error) {
	p := plan{query: strings.TrimSpace(in.Query)}
	var err error
	switch {
	case p.query == "":
		return p, wrong("query", "it is empty")
	case len([]rune(p.query)) > maxQuery:
		return p, wrong("query", fmt.Sprintf("it is longer than %d characters", maxQuery))
	case in.Range == "" && in.Step != "":
		return p, wrong("step", "it needs a range")
	}
	if p.at, err = s.moment(in.At); err != nil || in.Range == "" {
		return p, err
	}
	return p.over(in)
}

// over adds the range.
func (p plan) over(in input) (plan, error) {
	length, err := duration(in.Range)
	if err != nil || length > maxRange {
		return p, wrong("range", "it must be a time such as 30m, 6h or 7d, of at most 400d")
	}
	p.from = p.at.Add(-length)
	if p.step = stepFor(length); in.Step != "" {
		if p.step, err = duration(in.Step); err != nil {
			return p, wrong("step", "it must be a time such as 15s or 1m")
		}
	}
	if n := length / p.step; n > maxPoints {
		return p, wrong("step", fmt.Sprintf("the range would have %d points, and %d are allowed; take at least %s", n, maxPoints, written(length/maxPoints)))
	}
	return p, nil
}

func wrong(argument, why string) *tools.Failure {
	return &tools.Failure{Code: tools.InvalidArguments, Pointer: "/" + argument, Message: why}
}

// run asks and shows.
func (s *server) run(ctx context.Context, in input) (tools.Result, error) {
	p, err := s.plan(in)
	if err != nil {
		return tools.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	a, err := s.ask(ctx, p)
	if err != nil {
		return tools.Result{}, err
	}
	r := a.result(p)
	if p.step > 0 && len(a.series) > 0 {
		chart, err := draw(p, a.series)
		if err != nil {
			return tools.Result{}, fmt.Errorf("chart of a query: %w", err)
		}
		r.Files = []tools.File{{Name: "chart.png", MIME: "image/png", Bytes: chart}}
		r.Text += "\n(People see a chart of this.)"
	}
	r.Sources = []string{"metrics of " + net.JoinHostPort(s.base.Hostname(), portOf(s.base))}
	return r, nil
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
