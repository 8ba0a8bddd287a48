package localslack_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"countersign/localslack"
	"countersign/localslack/tinyapp"
)

func TestPageAnswersItsOwnBrowserOnly(t *testing.T) {
	t.Parallel()
	ws, as := pageOf(t)
	say := func(change func(*http.Request)) *http.Request {
		req := as("U0ANA").request(http.MethodPost, "/page/say", map[string]any{"user": "U0ANA", "channel": "C0OPS", "text": "x"})
		change(req)
		return req
	}
	read := func(change func(*http.Request)) *http.Request {
		req := as("U0ANA").request(http.MethodGet, "/page/state", nil)
		change(req)
		return req
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := map[string]struct {
		req  *http.Request
		want string
	}{
		"own page":                      {say(func(*http.Request) {}), ""},
		"a program":                     {say(func(r *http.Request) { r.Header.Del("Origin"); r.Header.Del("Sec-Fetch-Site") }), ""},
		"a name that points here":       {say(func(r *http.Request) { r.Host = "rebound.example:80" }), "unknown_host"},
		"a name that reads":             {read(func(r *http.Request) { r.Host = "rebound.example" }), "unknown_host"},
		"a name that begins like ours":  {read(func(r *http.Request) { r.Host = "127.0.0.1.example" }), "unknown_host"},
		"localhost":                     {read(func(r *http.Request) { r.Host = "localhost:7000" }), ""},
		"another origin":                {say(set("Origin", "https://other.example")), "foreign_origin"},
		"another port of this machine":  {say(set("Origin", "http://127.0.0.1:1")), "foreign_origin"},
		"no origin at all":              {say(set("Origin", "null")), "foreign_origin"},
		"another site reads":            {read(set("Sec-Fetch-Site", "cross-site")), "foreign_origin"},
		"another port reads":            {read(set("Sec-Fetch-Site", "same-site")), "foreign_origin"},
		"a form without our header":     {say(func(r *http.Request) { r.Header.Del("X-Local-Slack") }), "missing_header"},
		"a form's encoding":             {say(set("Content-Type", "application/x-www-form-urlencoded")), "not_json"},
		"text that looks like JSON":     {say(set("Content-Type", "text/plain")), "not_json"},
		"the address bar":               {read(set("Sec-Fetch-Site", "none")), ""},
		"a link of another site to it ": {read(set("Sec-Fetch-Mode", "navigate")), ""},
	}
	for name, tt := range tests {
		status, body := as("U0ANA").send(tt.req)
		if got := tinyapp.Str(body, "error"); got != tt.want || (tt.want != "") != (status == http.StatusForbidden) {
			t.Errorf("%s: %d %q, want %q", name, status, got, tt.want)
		}
	}
	if n := len(ws.Server.Workspace().Messages("C0OPS", "")); n != 2 {
		t.Errorf("%d messages were posted, want the two of our own", n)
	}
}

func TestPageOpensFromALink(t *testing.T) {
	t.Parallel()
	_, as := pageOf(t)
	for path, want := range map[string]int{"/": http.StatusOK, "/archives/C0OPS/p1700000000000001": http.StatusFound, "/page/state": http.StatusForbidden} {
		req := as("").request(http.MethodGet, path, nil)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		req.Header.Set("Sec-Fetch-Mode", "navigate")
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestPagePermalinks(t *testing.T) {
	t.Parallel()
	_, as := pageOf(t)
	for path, want := range map[string]string{
		"/archives/C0OPS/p1700000000000001":                             "/#/-/C0OPS/1700000000.000001",
		"/archives/C0OPS/p1700000009000001?thread_ts=1700000000.000001": "/#/-/C0OPS/1700000000.000001",
		"/archives/C0OPS/pxx":                                           "/#/-/C0OPS/",
	} {
		res, err := http.DefaultTransport.RoundTrip(as("").request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}

func TestPageFilesNeverRun(t *testing.T) {
	t.Parallel()
	_, as := pageOf(t)
	ana := as("U0ANA")
	files := []localslack.Upload{
		{Name: "x.html", Content: []byte("<script>alert(1)</script>")},
		{Name: "x.svg", Content: []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)},
		{Name: "notes.txt", Content: []byte(strings.Repeat("数", 500))},
		{Name: "dot.png", Content: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")},
	}
	ana.does("say", map[string]any{"channel": "C0OPS", "text": "look", "files": files})
	shown := ana.screen().Messages["C0OPS"][0].Files
	if len(shown) != len(files) {
		t.Fatalf("%d files, want %d", len(shown), len(files))
	}
	for i, f := range shown {
		res, err := http.DefaultTransport.RoundTrip(ana.request(http.MethodGet, "/page/file/"+f.ID, nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(body) != string(files[i].Content) {
			t.Errorf("%s: other bytes, %v", f.Name, err)
		}
		picture := f.Name == "dot.png"
		place, kind := res.Header.Get("Content-Disposition"), res.Header.Get("Content-Type")
		if inline := strings.HasPrefix(place, "inline"); inline != picture || picture != strings.HasPrefix(kind, "image/") {
			t.Errorf("%s is served as %q, %q", f.Name, kind, place)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", f.Name)
		}
	}
	if got := shown[2].Preview; got != strings.Repeat("数", 400)+"…" {
		t.Errorf("the preview has %d bytes: %.20s", len(got), got)
	}
}
