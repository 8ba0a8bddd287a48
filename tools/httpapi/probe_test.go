package httpapi_test

import (
	"net/http"
	"testing"

	"countersign/tools"
	"countersign/tools/httpapi"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   tools.Probed
	}{
		{200, `{"id":7,"done":true}`, tools.ProbedHappened}, {200, `{"id":7,"done":false}`, tools.ProbedNot}, {200, `{"id":null,"done":true}`, tools.ProbedNot},
		{200, `{}`, tools.ProbedNot}, {200, `not json`, tools.ProbedUnknown}, {404, ``, tools.ProbedNot}, {410, ``, tools.ProbedNot},
		{500, ``, tools.ProbedUnknown}, {403, ``, tools.ProbedUnknown}, {302, ``, tools.ProbedUnknown},
	} {
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.RequestURI != "/answers/run1-4" || r.Header.Get("Authorization") == "" {
				t.Errorf("probe sent %s %s", r.Method, r.RequestURI)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		})
		cfg := refund(base)
		cfg.Probe = &httpapi.Read{URL: base + "/answers/{idempotency_key}", Fields: []string{"id", "done"}}
		got, err := newTool(t, cfg).(tools.Prober).Probe(t.Context(), args(`{"order_id":"7"}`))
		if err != nil || got != c.want {
			t.Errorf("%d %s: %s, %v; want %s", c.status, c.body, got, err, c.want)
		}
	}
}

func TestProbeWithoutDeclarationOrAnswer(t *testing.T) {
	t.Parallel()
	got, err := newTool(t, refund("http://127.0.0.1:1")).(tools.Prober).Probe(t.Context(), args(`{"order_id":"7"}`))
	if err != nil || got != tools.ProbedUnknown {
		t.Errorf("no declaration: %s, %v", got, err)
	}
	cfg := refund("http://127.0.0.1:1")
	cfg.Probe = &httpapi.Read{URL: "http://127.0.0.1:1/answers/{idempotency_key}"}
	got, err = newTool(t, cfg).(tools.Prober).Probe(t.Context(), args(`{"order_id":"7"}`))
	if err == nil || got != tools.ProbedUnknown {
		t.Errorf("no answer: %s, %v", got, err)
	}
	cfg.Probe = &httpapi.Read{Method: "POST", URL: "http://127.0.0.1:1/"}
	if _, err := httpapi.New(cfg, httpapi.Options{}); err == nil {
		t.Error("a probe with POST was accepted")
	}
	cfg.Probe, cfg.URL = nil, "http://127.0.0.1:1/{idempotency_key}"
	if _, err := httpapi.New(cfg, httpapi.Options{}); err == nil {
		t.Error("the key was accepted in the tool's own address")
	}
}
