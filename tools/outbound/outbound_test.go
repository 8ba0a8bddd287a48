package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]error{
		"127.0.0.1:80":               nil,
		"[::1]:80":                   nil,
		"10.1.2.3:9090":              nil,
		"93.184.216.34:443":          nil,
		"169.254.169.254:80":         ErrForbidden,
		"[::ffff:169.254.169.254]:1": ErrForbidden,
		"[64:ff9b::a9fe:a9fe]:80":    ErrForbidden,
		"[fe80::1%eth0]:80":          ErrForbidden,
		"[fd00:ec2::254]:80":         ErrForbidden,
		"100.100.100.200:80":         ErrForbidden,
		"0.0.0.0:80":                 ErrForbidden,
		"224.0.0.1:80":               ErrForbidden,
		"localhost:80":               ErrForbidden,
	} {
		if err := check(address); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
}

func get(t *testing.T, client *http.Client, address string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(req)
}

// A service must not be able to send us elsewhere.
func TestClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/secret", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	resp, err := get(t, Client(Transport(nil)), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("got %s", resp.Status)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tls.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for address, want := range map[string]error{
		tls.URL:                     ErrTrust,
		gone.URL:                    ErrRefused,
		"http://169.254.169.254/":   ErrForbidden,
		"http://nowhere.invalid/":   ErrName,
		"http://nowhere.invalid:1/": ErrName,
	} {
		resp, err := get(t, Client(Transport(nil)), address)
		if err == nil {
			resp.Body.Close()
		}
		if got := Plain(err); !errors.Is(got, want) {
			t.Errorf("%s: %v is told as %v, want %v", address, err, got, want)
		}
	}
	if got := Plain(io.ErrUnexpectedEOF); !errors.Is(got, ErrExchange) {
		t.Errorf("got %v", got)
	}
	if got := Plain(context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("got %v", got)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"http://localhost:9090":      true,
		"https://h/prometheus?x=y":   true,
		"h":                          false,
		"file:///etc/passwd":         false,
		"http:///x":                  false,
		"http://user:secret@h/":      false,
		"http://\x7f/":               false,
		"javascript:alert(1)":        false,
		"http+unix://%2Frun%2Fx/mcp": false,
	} {
		u, err := Address(text)
		if (err == nil) != good || good && u.String() != text {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}
