package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"countersign/tools"
)

// Check refuses arguments that the address cannot take.
func (t *tool) Check(_ context.Context, args json.RawMessage) error {
	_, err := t.request.fill(args, true)
	return err
}

// filled is the request of a call as it is sent.
func (t *tool) filled(c tools.Call) (filled, error) {
	args := c.Args
	if t.request.keyed {
		var err error
		if args, err = withKey(c); err != nil {
			return filled{}, err
		}
	}
	return t.request.fill(args, true)
}

// Call sends the request once. The status and the body are the result; an answer that
// it failed is a *tools.Failure. Of a tool with effects, a lost connection, a timeout and
// a 5xx answer that is not declared final are ordinary errors: it may have happened.
func (t *tool) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	f, err := t.filled(c)
	if err != nil {
		return tools.Result{}, err
	}
	headers := t.headers.Clone()
	if t.spec.Effects {
		headers.Set("Idempotency-Key", c.IdempotencyKey())
	}
	a, err := t.sender.send(ctx, f, headers)
	if err != nil {
		return tools.Result{}, t.unanswered(err)
	}
	res, err := t.judge(f, a)
	if err != nil || t.pages == nil || a.status > 299 {
		return res, err
	}
	parts, note := t.follow(ctx, f, a)
	res.Text = statusLine(a.status) + "\n" + t.joined(parts, note)
	return res, nil
}

// unanswered sorts errors without an answer.
func (t *tool) unanswered(err error) error {
	if failed, ok := errors.AsType[*sendError](err); ok && t.spec.Effects && failed.sent {
		return failed
	}
	code := "unavailable"
	switch {
	case errors.Is(err, errForbidden), errors.Is(err, errPrivate):
		code = "forbidden"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code = "timeout"
	}
	return &tools.Failure{Code: code, Message: sentence(err.Error())}
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// judge turns an answer into a result, a failure, or an error of unknown outcome.
func (t *tool) judge(f filled, a answer) (tools.Result, error) {
	switch {
	case a.status >= 500 && t.spec.Effects && !t.final:
		return tools.Result{}, fmt.Errorf("the service answered %s; it may have happened or not", statusLine(a.status))
	case a.status >= 400:
		return tools.Result{}, &tools.Failure{Code: "http_" + strconv.Itoa(a.status), Message: t.refusal(a)}
	case a.status >= 300 && a.status != http.StatusNotModified:
		return t.redirected(f, a)
	}
	return t.result(f, a), nil
}

func (t *tool) result(f filled, a answer) tools.Result {
	r := tools.Result{
		Text:    statusLine(a.status) + "\n" + t.text(a),
		Summary: f.method + " " + pathOf(f.url) + ": " + statusLine(a.status),
		Sources: []string{f.method + " " + withoutQuery(f.url)},
	}
	if t.spec.Effects {
		r.Effect = t.spec.Name + ": " + r.Summary
	}
	return r
}

// redirected is an answer that points elsewhere, where we do not go. After a call with
// effects, See Other says that it was done, 307 and 308 that it was not.
func (t *tool) redirected(f filled, a answer) (tools.Result, error) {
	switch {
	case t.spec.Effects && a.status == http.StatusSeeOther:
		return t.result(f, a), nil
	case t.spec.Effects && a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect:
		return tools.Result{}, fmt.Errorf("the service answered %s, which is not followed; it may have happened or not", statusLine(a.status))
	}
	return tools.Result{}, &tools.Failure{Code: "redirect", Message: "The service answered " + statusLine(a.status) + "; redirects are not followed."}
}

// refusal tells the model what the service did not like.
func (t *tool) refusal(a answer) string {
	text := "The service answered " + statusLine(a.status) + "."
	if after := a.headers.Get("Retry-After"); after != "" {
		text += " Retry-After: " + cut(t.mask(after), 60) + "."
	}
	if body := t.text(a); body != "" {
		text += "\n" + cut(body, refusalRunes)
	}
	return text
}

func statusLine(status int) string {
	return strings.TrimSpace("HTTP " + strconv.Itoa(status) + " " + http.StatusText(status))
}
