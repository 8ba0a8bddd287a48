package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"countersign/tools"
)

// Preview shows the request as it will be sent and, where declared, what the service
// says now about the thing that it is about. Both are material.
func (t *tool) Preview(ctx context.Context, c tools.Call) (tools.Preview, error) {
	f, err := t.filled(c)
	if err != nil {
		return tools.Preview{}, err
	}
	p := tools.Preview{
		Summary:  f.method + " " + withoutQuery(f.url),
		Detail:   t.mask(f.draw()),
		Material: map[string]string{"method": f.method, "url": t.mask(f.url), "body": string(f.body)},
	}
	if t.preview == nil {
		p.Untried = "The tool declares nothing to read beforehand; the request is shown."
		return p, nil
	}
	return p, t.look(ctx, c, &p)
}

// draw is the request without its headers.
func (f filled) draw() string {
	text := f.method + " " + f.url
	if f.body == nil {
		return text
	}
	value, err := decode(f.body)
	if err != nil {
		return text + "\n\n" + string(f.body)
	}
	return text + "\n\n" + pretty(value)
}

// notThere are answers of the read that say that the call would fail, too.
var notThere = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity}

// look reads the declared fields. A service that does not answer leaves the preview untried.
func (t *tool) look(ctx context.Context, c tools.Call, p *tools.Preview) error {
	f, err := t.preview.request.fill(c.Args, false)
	if err != nil {
		return err
	}
	a, err := t.sender.send(ctx, f, t.preview.headers)
	switch {
	case errors.Is(err, errForbidden), errors.Is(err, errPrivate):
		return t.unanswered(&sendError{err: err})
	case err != nil:
		p.Untried = "The service did not answer the question about the present state."
		return nil
	case slices.Contains(notThere, a.status):
		return &tools.Failure{Code: "http_" + statusCode(a.status), Message: "Before the call: " + t.refusal(a)}
	case a.status < 200 || a.status > 299 || a.broken || a.cut:
		p.Untried = "The service answered " + statusLine(a.status) + " to the question about the present state."
		return nil
	}
	t.addFields(a, f.method, p)
	return nil
}

func statusCode(status int) string { return strings.Fields(statusLine(status))[1] }

func (t *tool) addFields(a answer, method string, p *tools.Preview) {
	found, ok := t.preview.values(a, method)
	if !ok {
		p.Untried = "The service's answer about the present state is not JSON."
		return
	}
	var lines []string
	for _, name := range t.preview.fields {
		text := "(not in the answer)"
		if value, given := found[name]; given {
			text = t.mask(compact(value))
		}
		p.Material["now:"+name] = text
		lines = append(lines, name+": "+cut(text, fieldRunes))
	}
	if len(lines) > 0 {
		p.Detail += "\n\nNow:\n" + strings.Join(lines, "\n")
	}
}

// values picks the declared fields out of an answer; it fails when that is not JSON.
func (r *read) values(a answer, method string) (map[string]any, bool) {
	found := map[string]any{}
	if method == http.MethodHead {
		for _, name := range r.fields {
			if value := a.headers.Get(name); value != "" {
				found[name] = value
			}
		}
		return found, true
	}
	body, err := decode(a.body)
	if err != nil {
		return nil, len(r.fields) == 0
	}
	for _, name := range r.fields {
		if value, ok := lookup(body, name); ok {
			found[name] = value
		}
	}
	return found, true
}
