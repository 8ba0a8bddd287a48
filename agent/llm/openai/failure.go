package openai

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/agent/llm"
)

// complaint is what a server says went wrong, from whatever shape it used.
type complaint struct {
	message string
	code    string        // code or type, in lower case, joined by a space
	status  int           // a status told in the body, for answers that came with 200
	retry   time.Duration // a delay told in the body
}

func (c *complaint) Error() string { return c.message }

// refusal is an answer with a bad status.
func (m *Client) refusal(resp *http.Response, body []byte) *llm.Error {
	if resp.StatusCode < http.StatusBadRequest {
		return &llm.Error{Kind: llm.Config, Message: fmt.Sprintf("the model's server redirects (status %d); put the final address in base_url", resp.StatusCode)}
	}
	c, ok := complaintOf(body)
	if !ok {
		c = &complaint{}
	}
	return m.sorted(resp.StatusCode, c, retryAfter(resp.Header, time.Now()))
}

// inBand is trouble told inside an answer with a good status.
func (m *Client) inBand(resp *http.Response, err error) *llm.Error {
	var c *complaint
	if errors.As(err, &c) {
		status := c.status
		if status < http.StatusBadRequest {
			status = http.StatusBadGateway // it said nothing better: worth another try
		}
		return m.sorted(status, c, retryAfter(resp.Header, time.Now()))
	}
	if errors.Is(err, errCut) {
		return &llm.Error{Kind: llm.Overloaded, Message: "the model's answer was cut off on its way", Err: err}
	}
	return &llm.Error{Kind: llm.Malformed, Message: "the model's reply could not be read", Err: err}
}

// page is a web page in place of an answer; it is never shown.
func (m *Client) page() *llm.Error {
	return &llm.Error{Kind: llm.Config, Message: "there is a web page, not a model, at " + m.host + "; check base_url (does it end in /v1?)"}
}

// sorted makes the error of a status and a complaint.
func (m *Client) sorted(status int, c *complaint, retry time.Duration) *llm.Error {
	e := &llm.Error{Kind: kindOf(status, c), RetryAfter: max(retry, c.retry)}
	if e.Kind != llm.Overloaded && e.Kind != llm.Quota {
		e.RetryAfter = 0
	}
	e.Message = fmt.Sprintf("%s (status %d)", meanings[e.Kind], status)
	if c.message != "" {
		e.Message += ": " + clip(m.clean(c.message))
	}
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		e.Message += "; check base_url and the model's name"
	}
	return e
}

var meanings = map[llm.Kind]string{
	llm.Overloaded: "the model's server cannot answer now",
	llm.Quota:      "the account at the model's provider has no quota left",
	llm.Overflow:   "the request is too long for the model",
	llm.BadRequest: "the model's server refuses the request",
	llm.Config:     "the model's server does not accept our key, model or address",
}

// noMoney are the codes that another try cannot mend.
var noMoney = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "insufficient_credits", "credit_balance_too_low"}

// tooLong is how servers say that a request does not fit; few have a code for it.
var tooLong = regexp.MustCompile(`(?i)context_length_exceeded|context (?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens|input token count|exceeds? the (?:available|maximum) (?:context|number of tokens)|max_model_len|reduce the length`)

// notUs is how servers say with any status that the key or the model is wrong.
var notUs = regexp.MustCompile(`(?i)invalid_api_key|api_key_invalid|api key not valid|model_not_found|invalid_model|\bmodel\b.{0,80}(?:not found|does not exist)`)

func kindOf(status int, c *complaint) llm.Kind {
	words := strings.Fields(c.code)
	switch {
	case status == http.StatusPaymentRequired, slices.ContainsFunc(words, func(w string) bool { return slices.Contains(noMoney, w) }):
		return llm.Quota
	case status == http.StatusTooManyRequests:
		return llm.Overloaded
	case status == http.StatusRequestEntityTooLarge, tooLong.MatchString(c.code + " " + c.message):
		return llm.Overflow
	case status >= http.StatusInternalServerError,
		status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.Overloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		notUs.MatchString(c.code + " " + c.message):
		return llm.Config
	}
	return llm.BadRequest
}

// complaintOf reads an error body of any shape we know. It says false when the
// body holds none.
func complaintOf(body []byte) (*complaint, bool) {
	var v any
	if decode(body, &v) != nil {
		return nil, false
	}
	return complaintIn(v)
}

func complaintIn(v any) (*complaint, bool) {
	if list, ok := v.([]any); ok && len(list) > 0 { // Gemini wraps errors in a list
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	c := &complaint{}
	found := c.read(top["error"])
	if !found && (top["object"] == "error" || top["choices"] == nil) { // flat, or FastAPI's detail
		found = c.read(map[string]any{"message": orElse(top["message"], top["detail"]), "code": top["code"], "type": top["type"]})
	}
	return c, found
}

// read takes a complaint out of an error value; false when there is none in it.
func (c *complaint) read(v any) bool {
	switch e := v.(type) {
	case string:
		c.message = e
		return e != ""
	case map[string]any:
		c.message = inWords(orElse(e["message"], e["detail"], e["error"]))
		c.code = strings.TrimSpace(strings.ToLower(inWords(e["code"]) + " " + inWords(e["type"]) + " " + inWords(e["status"])))
		c.status = asInt(e["code"])
		if s := asInt(e["status"]); s != 0 {
			c.status = s
		}
		c.retry = delayIn(e["details"])
		if c.message == "" {
			c.message = strings.TrimSpace(c.code)
		}
		return c.message != ""
	}
	return false
}

func orElse(all ...any) any {
	for _, v := range all {
		if v != nil && v != "" {
			return v
		}
	}
	return nil
}

// inWords is a message that may be a text, a number or something nested.
func inWords(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	b, err := encode(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// delayIn finds Google's retryDelay ("12s") among the details of an error.
func delayIn(v any) time.Duration {
	list, ok := v.([]any)
	if !ok {
		return 0
	}
	for _, d := range list {
		if m, ok := d.(map[string]any); ok {
			if s, ok := m["retryDelay"].(string); ok {
				if d, err := time.ParseDuration(s); err == nil && d > 0 {
					return d
				}
			}
		}
	}
	return 0
}

// retryAfter reads the header, in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// secretShape is what keys look like in messages that echo them.
var secretShape = regexp.MustCompile(`\b(?:sk|gsk|xai|key)-[A-Za-z0-9*_.-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|(?i:bearer) [A-Za-z0-9._~+/=-]{8,}`)

// clean makes a server's words fit to show: one line, no key, no page.
func (m *Client) clean(s string) string {
	if m.c.Key != "" {
		s = strings.ReplaceAll(s, m.c.Key, "[key]")
	}
	s = secretShape.ReplaceAllString(s, "[key]")
	if i := strings.IndexByte(s, '<'); i >= 0 && strings.Contains(strings.ToLower(s[i:]), "html") {
		s = s[:i] + "(a web page)"
	}
	return strings.Join(strings.Fields(s), " ")
}

// longestMessage bounds a server's words, in characters.
const longestMessage = 300

func clip(s string) string {
	r := []rune(s)
	if len(r) <= longestMessage {
		return s
	}
	return string(r[:longestMessage]) + "…"
}

func badCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var header tls.RecordHeaderError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &header)
}
