// Package httpapi turns a declared HTTP request into a tool. Scheme, host and headers
// come from the declaration alone; an argument fills one path segment or one query
// value, or becomes a member of the JSON body. A request is sent at most once, to an
// address that was checked when it was dialled, and follows no redirect. What a call
// with effects cannot be sure of stays unsure: it is an ordinary error, not a *tools.Failure.
package httpapi

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"countersign/tools"
)

// Tool declares one request.
type Tool struct {
	Name           string
	Description    string
	Method         string            // GET, HEAD, POST, PUT, PATCH or DELETE; empty: GET
	URL            string            // "https://host/path/{argument}?key={argument}"; credentials belong into Headers
	Headers        map[string]string // sent to the URL's origin only and shown to nobody; may hold secrets
	Parameters     json.RawMessage   // JSON Schema of the arguments, an object; empty: no arguments
	Body           json.RawMessage   // JSON with "{argument}" for whole values; empty: an object of what the URL does not take
	ContentType    string            // of the body: application/…+json; empty: application/json
	Risk           tools.Risk        // empty: low for GET and HEAD, else high; low means that it only reads
	Roles          []string          // who may ask for it
	Channels       []string          // where it may be asked for
	Idempotent     bool              // the service honours the Idempotency-Key header
	Window         time.Duration     // for how long it does; 0: for ever
	Private        bool              // its results are not for the channel
	PrivateNetwork bool              // loopback and private addresses may be dialled
	Egress         *bool             // it sends data out of the house; nil: unless PrivateNetwork
	FinalErrors    bool              // a 5xx answer means that nothing happened
	Preview        *Read             // what to read before somebody approves
	Probe          *Read             // what tells whether a call of unknown outcome happened; may use {idempotency_key}
	Pages          *Pages            // how an answer names its next part; nil: it is whole
	Timeout        time.Duration     // 0: the configured tool_timeout
	MaxBytes       int               // of an answer; 0: 1 MiB; what is longer is cut
}

// Read is a request without effects that goes with a tool. Of a preview the fields
// are shown and compared. A probe's answer 2xx with all of the fields (neither null nor
// false) says that the call happened; 2xx without them, 404 and 410 that it did not.
type Read struct {
	Method string   // GET or HEAD; empty: GET
	URL    string   // template over the same arguments
	Fields []string // members of the JSON answer as dotted paths ("customer.name"); of HEAD: header names
}

// Options are what all tools share.
type Options struct {
	UserAgent string         // default "countersign"
	Roots     *x509.CertPool // trusted certificate authorities; nil: the system's
}

const defaultMaxBytes = 1 << 20

// tool is a declared request, checked.
type tool struct {
	spec    tools.Spec
	request template
	preview *read // nil: none
	probe   *read // nil: none
	headers http.Header
	secrets []string
	pages   *Pages // nil: none
	final   bool
	sender  sender
}

// read is a declared read, checked.
type read struct {
	request template
	fields  []string
	headers http.Header // none when it goes to another origin
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// New checks a declaration and makes the tool. Nothing is sent.
func New(cfg Tool, opt Options) (tools.Tool, error) {
	t, err := build(cfg, opt)
	if err != nil {
		return nil, fmt.Errorf("http tool %q: %w", cfg.Name, err)
	}
	return t, nil
}

func build(cfg Tool, opt Options) (*tool, error) {
	params, err := readParameters(cfg.Parameters)
	if err != nil {
		return nil, err
	}
	request, err := parseTemplate(cfg.Method, cfg.URL, params)
	if err != nil {
		return nil, err
	}
	if err := request.setBody(cfg.Body, params); err != nil {
		return nil, err
	}
	if err := request.checkNames(params); err != nil {
		return nil, err
	}
	kind, err := contentType(cfg.ContentType)
	if err != nil {
		return nil, err
	}
	headers, secrets, err := readHeaders(cfg.Headers, params)
	if err != nil {
		return nil, err
	}
	headers.Set("Content-Type", kind)
	secrets = append(secrets, request.secrets()...)
	// The longest first, so that a part never uncovers the rest of a whole.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	t := &tool{request: request, headers: headers, secrets: secrets, final: cfg.FinalErrors, pages: cfg.Pages, sender: newSender(cfg, opt)}
	if t.spec, err = specOf(cfg, request, params); err != nil {
		return nil, err
	}
	if err := cfg.Pages.check(request.method, t.spec.Effects); err != nil {
		return nil, err
	}
	if t.preview, err = t.buildRead("preview", cfg.Preview, params); err != nil {
		return nil, err
	}
	t.probe, err = t.buildRead("probe", cfg.Probe, params.with(keyArgument))
	return t, err
}

// keyArgument stands in a probe's URL for the key that the call was sent with.
const keyArgument = "idempotency_key"

func (t *tool) buildRead(what string, cfg *Read, params parameters) (*read, error) {
	if cfg == nil {
		return nil, nil // no declaration, nothing to build
	}
	request, err := parseTemplate(cfg.Method, cfg.URL, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if !reads(request.method) {
		return nil, fmt.Errorf("%s: the method must be GET or HEAD", what)
	}
	r := &read{request: request, fields: cfg.Fields}
	if request.origin() == t.request.origin() {
		r.headers = t.headers
	}
	return r, nil
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func specOf(cfg Tool, request template, params parameters) (tools.Spec, error) {
	risk := cfg.Risk
	if risk == "" {
		risk = tools.High
		if reads(request.method) {
			risk = tools.Low
		}
	}
	if !slices.Contains([]tools.Risk{tools.Low, tools.Medium, tools.High}, risk) {
		return tools.Spec{}, fmt.Errorf("risk %q is not one of low, medium, high", risk)
	}
	egress := !cfg.PrivateNetwork
	if cfg.Egress != nil {
		egress = *cfg.Egress
	}
	return tools.Spec{
		Name: cfg.Name, Description: cfg.Description, Parameters: params.schema, Risk: risk,
		Effects: risk != tools.Low, Idempotent: cfg.Idempotent && risk != tools.Low, Window: cfg.Window, Parallel: risk == tools.Low,
		Private: cfg.Private, Egress: egress, Roles: cfg.Roles, Channels: cfg.Channels, Timeout: cfg.Timeout, Target: targetOf(cfg),
	}, nil
}

// targetOf is everything of the declaration that decides which request is made. Values
// of headers are left out: a credential that is renewed asks nobody again.
func targetOf(cfg Tool) string {
	parts := []string{cfg.Method, cfg.URL, string(cfg.Body), cfg.ContentType}
	for _, r := range []*Read{cfg.Preview, cfg.Probe} {
		if r != nil {
			parts = append(parts, r.Method, r.URL)
		}
	}
	return tools.Digest(append(parts, slices.Sorted(maps.Keys(cfg.Headers))...)...)
}

// reservedHeaders are made by the transport or by us.
var reservedHeaders = []string{
	"Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect", "Idempotency-Key", "Content-Type",
}

// readHeaders checks the declared headers and lists what in them must not be shown.
func readHeaders(declared map[string]string, params parameters) (http.Header, []string, error) {
	headers := http.Header{}
	var secrets []string
	for name, value := range declared {
		switch {
		case !headerName(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return nil, nil, fmt.Errorf("header %q is not a valid header", name)
		case slices.Contains(reservedHeaders, http.CanonicalHeaderKey(name)):
			return nil, nil, fmt.Errorf("header %q cannot be declared", name)
		case params.mentionedIn(value):
			return nil, nil, fmt.Errorf("header %q would be filled from an argument", name)
		}
		headers.Set(name, value)
		secrets = append(secrets, secretsOf(value)...)
	}
	return headers, secrets, nil
}

func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// secretLength is the shortest header value that is masked in answers: shorter ones
// ("1", "json") are no secrets and would mask half of the text.
const secretLength = 8

// secretsOf gives the value and the credential behind a scheme ("Bearer …").
func secretsOf(value string) []string {
	var found []string
	_, credential, _ := strings.Cut(value, " ")
	for _, part := range []string{value, strings.TrimSpace(credential)} {
		if len(part) >= secretLength {
			found = append(found, part)
		}
	}
	return found
}

// mask hides declared credentials in what came back or is shown.
func (t *tool) mask(text string) string {
	for _, secret := range t.secrets {
		text = strings.ReplaceAll(text, secret, "•••")
	}
	return text
}

// Spec describes the tool.
func (t *tool) Spec() tools.Spec { return t.spec }
