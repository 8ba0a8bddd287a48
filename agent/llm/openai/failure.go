package openai

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
		c = &complaint{message: plainText(body)}
	}
	return m.sorted(resp.StatusCode, c, retryAfter(resp.Header, time.Now()))
}

// plainText is a body that is a sentence: no page, no data.
func plainText(body []byte) string {
	text := strings.TrimSpace(string(body))
	if !utf8.ValidString(text) || strings.ContainsAny(text, "<{[") {
		return ""
	}
	return text
}

// inBand is trouble told inside an answer with a good status.
func (m *Client) inBand(resp *http.Response, err error) *llm.Error {
	var c *complaint
	if errors.As(err, &c) {
		status := c.status
		switch {
		case status != 0:
		case notUs.MatchString(c.code + " " + c.message):
			status = http.StatusBadRequest
		default:
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
	c.retry = max(retry, c.retry, delayTold(c.message))
	e := &llm.Error{Kind: kindOf(status, c)}
	if e.Kind == llm.Overloaded || e.Kind == llm.Quota {
		e.RetryAfter = min(c.retry, longestRetry)
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

// noMoney is how servers say that the account is empty, which another try cannot mend.
var noMoney = regexp.MustCompile(`(?i)insufficient[ _](?:quota|balance|credits?|funds)|billing_hard_limit|billing_not_active|credit[ _]balance[ _](?:is )?too[ _]low|exceeded_current_quota|arrear|overdue|out of credits|余额不足|欠费`)

// noQuota is said of an empty account and, by some, of a rate that recovers: then
// they also say when.
var noQuota = regexp.MustCompile(`(?i)exceeded your current quota`)

// tooLong is how servers say that a request does not fit; few have a code for it.
var tooLong = regexp.MustCompile(`(?i)context_length_exceeded|context (?:length|window|size)|maximum context|prompt is too long|request too large|too many (?:input )?tokens|input token count|exceeds? the (?:available|maximum) (?:context|number of tokens)|max_model_len|reduce the length`)

// notUs is how servers say with any status that the key, the model or its set-up is wrong.
var notUs = regexp.MustCompile(`(?i)invalid[_ ]api[_ ]?key|api_key_invalid|api key not valid|login fail|model_not_found|invalid_model|\bmodel\b.{0,80}(?:not found|does not exist)|support tool use|not support tools|enable-auto-tool-choice`)

func kindOf(status int, c *complaint) llm.Kind {
	words := c.code + " " + c.message
	switch {
	case status == http.StatusPaymentRequired, noMoney.MatchString(words), c.retry == 0 && noQuota.MatchString(words):
		return llm.Quota
	case status == http.StatusRequestEntityTooLarge, tooLong.MatchString(words) && (status != http.StatusTooManyRequests || tooLargeEver(c)):
		return llm.Overflow
	case status == http.StatusTooManyRequests:
		return llm.Overloaded
	case status == http.StatusNotImplemented:
		return llm.Config
	case status >= http.StatusInternalServerError,
		status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.Overloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		status == http.StatusProxyAuthRequired, notUs.MatchString(words):
		return llm.Config
	}
	return llm.BadRequest
}

// tooLargeEver says that a rate allows no request of this size, however long one waits.
func tooLargeEver(c *complaint) bool {
	return strings.Contains(strings.ToLower(c.message), "request too large")
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
	return c, c.read(top["error"]) || c.readFlat(top)
}

// readFlat takes a complaint from where an answer should be: beside its code, as a
// list, or as one provider's base_resp.
func (c *complaint) readFlat(top map[string]any) bool {
	if top["choices"] != nil || top["output"] != nil && top["object"] != "error" {
		return false
	}
	if own, ok := top["base_resp"].(map[string]any); ok && asInt(own["status_code"]) != 0 {
		return c.read(map[string]any{"message": own["status_msg"], "code": own["status_code"]})
	}
	if list, ok := top["errors"].([]any); ok && len(list) > 0 {
		return c.read(list[0])
	}
	message := orElse(top["message"], top["detail"], top["msg"], top["error_msg"], top["title"])
	if _, answers := message.(map[string]any); message == nil || answers {
		return false
	}
	return c.read(map[string]any{"message": message, "code": orElse(top["code"], top["error_code"]), "type": top["type"], "status": top["status"]})
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
		c.status = badStatus(e["status"], e["code"])
		c.retry = delayIn(e["details"])
		if by, ok := e["metadata"].(map[string]any); ok && inWords(by["raw"]) != "" { // a gateway's word, then its provider's
			c.message = strings.TrimPrefix(c.message+": "+inWords(by["raw"]), ": ")
		}
		if c.message == "" && asInt(e["code"]) == 0 && e["code"] != nil {
			return false // {"code":0,"message":""} is how some say that all is well
		}
		if c.message == "" {
			c.message = strings.TrimSpace(c.code)
		}
		return c.message != ""
	}
	return false
}

// badStatus is the first of the values that is a status of trouble; 0 when none is.
func badStatus(values ...any) int {
	for _, v := range values {
		if s := asInt(v); s >= http.StatusBadRequest && s < 600 {
			return s
		}
	}
	return 0
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

// secretShape is what keys look like in messages that echo them.
var secretShape = regexp.MustCompile(`\b(?:sk|gsk|xai|key|pplx|nvapi)-[A-Za-z0-9*_.-]{6,}|\bhf_[A-Za-z0-9]{8,}|\bAIza[A-Za-z0-9_-]{10,}|(?i:bearer) [A-Za-z0-9._~+/=-]{8,}`)

// clean makes a server's words fit to show: one line, no key, no page.
func (m *Client) clean(s string) string {
	if m.c.Key != "" {
		s = strings.ReplaceAll(s, m.c.Key, "[key]")
	}
	s = secretShape.ReplaceAllString(s, "[key]")
	if i := strings.IndexByte(s, '<'); i >= 0 && strings.Contains(strings.ToLower(s[i:]), "html") {
		s = s[:i] + "(a web page)"
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
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
