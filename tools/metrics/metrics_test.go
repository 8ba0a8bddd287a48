package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"countersign/tools"
)

// noon is now, for tests.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func tool(t *testing.T, cfg Config) tools.Tool {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return noon }
	}
	made, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ask passes arguments through the same gates as the agent does.
func ask(t *testing.T, made tools.Tool, args string) (tools.Result, error) {
	t.Helper()
	schema, err := tools.Compile(made.Spec())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := tools.Parse(schema, args)
	if err != nil {
		return tools.Result{}, err
	}
	if err := made.(tools.Guard).Check(t.Context(), parsed.Canonical); err != nil {
		return tools.Result{}, err
	}
	return made.Call(t.Context(), tools.Call{Args: parsed.Canonical})
}

// answers serves one answer, and tells what was asked.
func answers(t *testing.T, status int, body string) (address string, asked *url.URL) {
	t.Helper()
	asked = &url.URL{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = *r.URL
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestInstant(t *testing.T) {
	t.Parallel()
	address, asked := answers(t, 200, `{"status":"success","warnings":["old\u0000"],"data":{"resultType":"vector","result":[
		{"metric":{"__name__":"up","job":"b\u202e"},"value":[1772366400,"0"]},{"metric":{"__name__":"up","job":"a"},"value":[1772366400,"1"]}]}}`)
	r, err := ask(t, tool(t, Config{URL: address + "/prefix/"}), `{"query":" up "}`)
	want := tools.Result{
		Text:    "2 series at 2026-03-01T12:00:00Z\nseries | value\nup{job=\"a\"} | 1\nup{job=\"b\\u202e\"} | 0\nPrometheus remarks: old⟨U+0000⟩",
		Summary: "2 series at 2026-03-01T12:00:00Z", Sources: []string{"metrics of " + strings.TrimPrefix(address, "http://")},
		Table: &tools.Table{Columns: []string{"series", "value"}, Rows: [][]string{{`up{job="a"}`, "1"}, {`up{job="b\u202e"}`, "0"}}},
	}
	if diff := cmp.Diff(want, r); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got := asked.String(); got != "/prefix/api/v1/query?query=up&time=1772366400.000&timeout=10s" {
		t.Error(got)
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	address, asked := answers(t, 200, `{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"job":"a"},"values":[[1772362800,"1"],[1772364600,"NaN"],[1772366400,"4"]]}]}}`)
	r, err := ask(t, tool(t, Config{URL: address}), `{"query":"x","range":"1h","step":"30m"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "1 series from 2026-03-01T11:00:00Z to 2026-03-01T12:00:00Z, step 30m0s\nseries | first | last | min | max | mean | points\n" +
		"{job=\"a\"} | 1 | 4 | 1 | 4 | 2.5 | 3\n{job=\"a\"}: 2026-03-01T11:00:00Z=1 2026-03-01T11:30:00Z=NaN 2026-03-01T12:00:00Z=4\n(People see a chart of this.)"
	if diff := cmp.Diff(want, r.Text); diff != "" {
		t.Error(diff)
	}
	if got := asked.String(); got != "/api/v1/query_range?end=1772366400.000&query=x&start=1772362800.000&step=1800&timeout=10s" {
		t.Error(got)
	}
	if len(r.Files) != 1 || r.Files[0].Name != "chart.png" || r.Files[0].MIME != "image/png" {
		t.Fatalf("%d files", len(r.Files))
	}
	if _, err := png.Decode(bytes.NewReader(r.Files[0].Bytes)); err != nil {
		t.Error(err)
	}
}

// The other kinds of answers.
func TestKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, want string }{
		"scalar":              {`{"resultType":"scalar","result":[1772366400,"42"]}`, "{} | 42"},
		"string":              {`{"resultType":"string","result":[1772366400,"a\nb"]}`, "{} | a b"},
		"nothing":             {`{"resultType":"vector","result":[]}`, "(nothing matches)"},
		"matrix at a moment":  {`{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[[1772366400,"1"]]}]}`, "up | 1 | 1 | 1 | 1 | 1 | 1"},
		"histogram":           {`{"resultType":"vector","result":[{"metric":{"__name__":"h"},"histogram":[1,{"count":"1"}]}]}`, "h | (native histogram"},
		"only not a number":   {`{"resultType":"matrix","result":[{"metric":{},"values":[[1772366400,"NaN"]]}]}`, "{} | NaN | NaN | NaN | NaN | NaN | 1"},
		"series without data": {`{"resultType":"matrix","result":[{"metric":{}}]}`, "{} |  |  |  |  |  | 0"},
	} {
		address, _ := answers(t, 200, `{"status":"success","data":`+c.data+`}`)
		r, err := ask(t, tool(t, Config{URL: address}), `{"query":"x"}`)
		if err != nil || !strings.Contains(r.Text, c.want) || len(r.Files) > 0 {
			t.Errorf("%s: %q, %v", name, r.Text, err)
		}
	}
}

func TestManySeries(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 3 * maxSeries {
		list = append(list, fmt.Sprintf(`{"metric":{"n":"%03d"},"value":[1,"%d"]}`, 3*maxSeries-i, i))
	}
	address, _ := answers(t, 200, `{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(list, ",")+`]}}`)
	r, err := ask(t, tool(t, Config{URL: address}), `{"query":"x"}`)
	if err != nil || !r.Table.More || len(r.Table.Rows) != maxSeries || r.Table.Rows[0][0] != `{n="001"}` || !strings.Contains(r.Text, "150 series") {
		t.Error(r.Text, err)
	}
	r, err = ask(t, tool(t, Config{URL: address}), `{"query":"topk(150, x)"}`)
	if err != nil || r.Table.Rows[0][0] != `{n="150"}` {
		t.Error("the order of topk is lost:", r.Table.Rows[0], err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ok := `{"status":"success","data":{"resultType":"vector","result":[]}}`
	for name, c := range map[string]struct {
		status     int
		body, args string
		code, says string
	}{
		"empty query":      {200, ok, `{"query":"  "}`, tools.InvalidArguments, "empty"},
		"long query":       {200, ok, `{"query":"` + strings.Repeat("x", maxQuery+1) + `"}`, tools.InvalidArguments, "4000"},
		"range":            {200, ok, `{"query":"x","range":"1 hour"}`, tools.InvalidArguments, "30m"},
		"long range":       {200, ok, `{"query":"x","range":"9y"}`, tools.InvalidArguments, "400d"},
		"step alone":       {200, ok, `{"query":"x","step":"1m"}`, tools.InvalidArguments, "range"},
		"step of nothing":  {200, ok, `{"query":"x","range":"1h","step":"0s"}`, tools.InvalidArguments, "15s"},
		"too many points":  {200, ok, `{"query":"x","range":"1d","step":"1s"}`, tools.InvalidArguments, "at least 87s"},
		"moment":           {200, ok, `{"query":"x","at":"yesterday"}`, tools.InvalidArguments, "2026-01-31"},
		"moment far away":  {200, ok, `{"query":"x","at":"1e300"}`, tools.InvalidArguments, "2026-01-31"},
		"unknown argument": {200, ok, `{"query":"x","end":"1"}`, tools.InvalidArguments, "end"},
		"parse error":      {400, `{"status":"error","errorType":"bad_data","error":"1:3: parse error\u001b[0m"}`, `{"query":"x"}`, "bad_data", "1:3: parse error⟨U+001B⟩[0m"},
		"unknown error":    {422, `{"status":"error","errorType":"new thing","error":"no"}`, `{"query":"x"}`, "refused", "no"},
		"another service":  {404, "<html>", `{"query":"x"}`, "http_404", "not as Prometheus"},
		"another answer":   {200, `{"ok":true}`, `{"query":"x"}`, "http_200", "not as Prometheus"},
		"another kind":     {200, `{"status":"success","data":{"resultType":"x","result":[]}}`, `{"query":"x"}`, "bad_answer", "cannot be read"},
		"another value":    {200, `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,2,3]}]}}`, `{"query":"x"}`, "bad_answer", "cannot be read"},
		"a flood":          {200, strings.Repeat(" ", maxBytes+1), `{"query":"x"}`, "too_large", "aggregate"},
	} {
		address, _ := answers(t, c.status, c.body)
		_, err := ask(t, tool(t, Config{URL: address}), c.args)
		if f, ok := errors.AsType[*tools.Failure](err); !ok || f.Code != c.code || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Redirects, slow servers and absent ones; headers go with the query and not elsewhere.
func TestExchange(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			t.Error("the header is missing")
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	t.Cleanup(redirecting.Close)
	_, err := ask(t, tool(t, Config{URL: redirecting.URL, Headers: map[string]string{"Authorization": "Bearer x"}}), `{"query":"x"}`)
	wantCode(t, err, "http_302")

	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(slow.Close)
	_, err = ask(t, tool(t, Config{URL: slow.URL, Timeout: 30 * time.Millisecond}), `{"query":"x"}`)
	wantCode(t, err, "timeout")

	absent := httptest.NewServer(http.NotFoundHandler())
	absent.Close()
	_, err = ask(t, tool(t, Config{URL: absent.URL}), `{"query":"x"}`)
	wantCode(t, err, "unavailable")
	_, err = ask(t, tool(t, Config{URL: "http://169.254.169.254"}), `{"query":"x"}`)
	wantCode(t, err, "forbidden")
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if f, ok := errors.AsType[*tools.Failure](err); !ok || f.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	yes := true
	for _, c := range []struct {
		cfg    Config
		egress bool
	}{
		{Config{URL: "http://10.0.0.1:9090"}, false},
		{Config{URL: "http://[::1]:9090"}, false},
		{Config{URL: "http://prometheus:9090"}, false},
		{Config{URL: "http://prometheus.monitoring.svc:9090"}, false},
		{Config{URL: "https://metrics.example.com"}, true},
		{Config{URL: "https://8.8.8.8"}, true},
		{Config{URL: "http://prometheus:9090", Egress: &yes}, true},
	} {
		if got := tool(t, c.cfg).Spec(); got.Egress != c.egress || got.Risk != tools.Low || got.Effects {
			t.Errorf("%s: %+v", c.cfg.URL, got)
		}
	}
	if got := tool(t, Config{URL: "http://h", Risk: tools.High, Private: true, Roles: []string{"ops"}}).Spec(); got.Risk != tools.High || !got.Effects || !got.Private || got.Roles[0] != "ops" {
		t.Errorf("%+v", got)
	}
	for _, address := range []string{"", "prometheus:9090", "http://u:p@h", "http://h?x=secret"} {
		if _, err := New(Config{URL: address}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "2w": 336 * time.Hour, "500ms": 500 * time.Millisecond, "1y": 8760 * time.Hour,
		"": 0, "0s": 0, "5": 0, "h": 0, "-1h": 0, "1.5h": 0, "1 h": 0, "9999999999h": 0, "2147483647y": 0, "200y200y": 0,
	} {
		if got, err := duration(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for length, want := range map[time.Duration]time.Duration{
		time.Minute: time.Second, time.Hour: 30 * time.Second, 24 * time.Hour: 15 * time.Minute, 30 * 24 * time.Hour: 6 * time.Hour, 365 * 24 * time.Hour: 96 * time.Hour,
	} {
		if got := stepFor(length); got != want {
			t.Errorf("%s has the step %s, want %s", length, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"2"],[1e300,"x"]]}]}}`)
	f.Add(`{"status":"success","data":{"resultType":"scalar","result":[1]}}`)
	f.Add(`{"status":"error","error":"x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		a, err := read(200, []byte(body))
		if err != nil {
			return
		}
		p := plan{from: noon.Add(-time.Hour), at: noon, step: time.Minute}
		r := a.result(p)
		for _, row := range r.Table.Rows {
			if len(row) != len(r.Table.Columns) {
				t.Errorf("%d cells for %d columns", len(row), len(r.Table.Columns))
			}
		}
		if _, err := draw(p, a.series); err != nil {
			t.Error(err)
		}
	})
}
