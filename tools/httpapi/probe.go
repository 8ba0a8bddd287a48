package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"countersign/tools"
)

// Probe asks the service whether a call of unknown outcome happened. Without a
// declared probe, or without a clear answer, nothing is known. A "not happened" holds
// only once the call can no longer be on its way.
func (t *tool) Probe(ctx context.Context, c tools.Call) (tools.Probed, error) {
	if t.probe == nil {
		return tools.ProbedUnknown, nil
	}
	args, err := withKey(c)
	if err != nil {
		return tools.ProbedUnknown, err
	}
	f, err := t.probe.request.fill(args, false)
	if err != nil {
		return tools.ProbedUnknown, err
	}
	a, err := t.sender.send(ctx, f, t.probe.headers)
	if err != nil {
		return tools.ProbedUnknown, t.unanswered(&sendError{err: err})
	}
	return t.probe.verdict(a, f.method), nil
}

// withKey adds the call's idempotency key to its arguments.
func withKey(c tools.Call) (json.RawMessage, error) {
	args, err := readArguments(c.Args)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(c.IdempotencyKey())
	if err != nil {
		return nil, err
	}
	args[keyArgument] = key
	return json.Marshal(args)
}

func (r *read) verdict(a answer, method string) tools.Probed {
	switch {
	case a.status == http.StatusNotFound || a.status == http.StatusGone:
		return tools.ProbedNot
	case a.status < 200 || a.status > 299 || a.broken || a.cut:
		return tools.ProbedUnknown
	}
	found, ok := r.values(a, method)
	if !ok {
		return tools.ProbedUnknown
	}
	for _, name := range r.fields {
		if value := found[name]; value == nil || value == false {
			return tools.ProbedNot
		}
	}
	return tools.ProbedHappened
}
