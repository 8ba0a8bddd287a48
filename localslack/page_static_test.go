package localslack

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// eachPageFile calls fn with every file that the page is made of.
func eachPageFile(t *testing.T, fn func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(pageFiles, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(pageFiles, name)
		fn(name, string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The promise that nothing from the workspace is ever read as HTML or code is
// kept by not using what could: the page's policy would stop scripts, but not
// a forged button.
func TestPageScriptsNeverParseMarkup(t *testing.T) {
	t.Parallel()
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\(|new Function|setHTML`)
	eachPageFile(t, func(name, text string) {
		if strings.HasSuffix(name, ".js") {
			if hit := banned.FindString(text); hit != "" {
				t.Errorf("%s uses %s", name, hit)
			}
		}
	})
}

func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s'"]*|url\(|@import`)
	eachPageFile(t, func(name, text string) {
		for _, hit := range address.FindAllString(text, -1) {
			if hit != "http://www.w3.org/2000/svg" { // a name, never fetched
				t.Errorf("%s names %s", name, hit)
			}
		}
	})
}

func TestPageModulesFindEachOther(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^import \{([^}]*)\} from '\./([^']+)'`)
	exported := regexp.MustCompile(`(?m)^export (?:async )?(?:function|const|class) (\w+)`)
	exports := map[string]map[string]bool{}
	eachPageFile(t, func(name, text string) {
		exports[path.Base(name)] = map[string]bool{}
		for _, m := range exported.FindAllStringSubmatch(text, -1) {
			exports[path.Base(name)][m[1]] = true
		}
	})
	eachPageFile(t, func(name, text string) {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			for _, wanted := range strings.Split(m[1], ",") {
				if wanted = strings.TrimSpace(wanted); wanted != "" && !exports[m[2]][wanted] {
					t.Errorf("%s imports %s, which %s does not export", name, wanted, m[2])
				}
			}
		}
	})
}

func TestPageServesAllItsFiles(t *testing.T) {
	t.Parallel()
	h := NewPage(nil, PageConfig{})
	get := func(target string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodGet, target, nil)
		req.RemoteAddr, req.Host = "127.0.0.1:1234", "127.0.0.1:7777"
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec
	}
	types := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	eachPageFile(t, func(name, text string) {
		target := "/" + name
		if name == "web/index.html" {
			target = "/"
		}
		rec := get(target)
		if rec.Code != http.StatusOK || rec.Body.String() != text || rec.Header().Get("Content-Type") != types[path.Ext(name)] {
			t.Errorf("%s: %d, %q, %d bytes of %d", target, rec.Code, rec.Header().Get("Content-Type"), rec.Body.Len(), len(text))
		}
		if !strings.Contains(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s comes without its policy", target)
		}
	})
	for _, target := range []string{"/web/", "/web/js", "/web/js/none.js", "/web/%2e%2e/page.go", "/none"} {
		if rec := get(target); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", target, rec.Code)
		}
	}
}

func TestPageRefusesOtherMachines(t *testing.T) {
	t.Parallel()
	h := NewPage(nil, PageConfig{})
	for _, from := range []string{"192.0.2.7:4000", "[2001:db8::1]:4000", "10.0.0.1:80", ""} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.RemoteAddr, req.Host = from, "127.0.0.1"
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != http.StatusForbidden {
			t.Errorf("from %q: %d", from, rec.Code)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "127.8.9.1:80": true, "localhost": true, "LocalHost:80": true, "[::1]:80": true, "::1": true,
		"[::ffff:127.0.0.1]:80": true, "": false, "example.com": false, "localhost.example:80": false, "127.0.0.1.example": false, "10.1.2.3:80": false, "0.0.0.0:80": false,
	}
	for host, want := range tests {
		if got := isLoopback(host); got != want {
			t.Errorf("isLoopback(%q) = %v", host, got)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"数据库表", 3, "数据库…"}, {"👍👍", 1, "👍…"}, {"x", 0, "…"},
	}
	for _, tt := range tests {
		if got := firstRunes(tt.text, tt.n); got != tt.want {
			t.Errorf("firstRunes(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

// The readers of mrkdwn, Markdown, rich text and dates have their own tests in
// the language they are written in.
func TestPageReaders(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("COUNTERSIGN_BOLT") == "" {
		t.Skip("node is not installed; the test script brings it")
	}
	files, err := fs.Glob(os.DirFS("web/test"), "*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the scripts: %v", err)
	}
	cmd := exec.Command(node, append([]string{"--test"}, files...)...)
	cmd.Dir = "web/test"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
