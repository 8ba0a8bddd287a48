package localslack

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// pageHeader is sent by our own scripts with everything that changes something.
// A form or a script of another site cannot send it without asking first, and
// nobody here answers such a question.
const pageHeader = "X-Local-Slack"

// pagePolicy lets the page load its own files and nothing else: no script, no
// style and no picture from a message can come from elsewhere.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets a browser on this machine in and nobody else. The Host check stops
// a foreign name that was made to point at loopback; the origin checks stop
// other sites that are open in the same browser.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if reason := refusal(r); reason != "" {
			writeJSON(w, http.StatusForbidden, map[string]string{"error": reason})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusal names the check that the request fails, or is empty.
func refusal(r *http.Request) string {
	switch {
	case !isLoopback(r.RemoteAddr):
		return "not_from_this_machine"
	case !isLoopback(r.Host):
		return "unknown_host"
	case !ownOrigin(r):
		return "foreign_origin"
	case r.Method == http.MethodPost && r.Header.Get(pageHeader) != "page":
		return "missing_header"
	case r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return "not_json"
	}
	return ""
}

// ownOrigin reports whether the request comes from our own page, from the
// address bar, or from a program that is no browser.
func ownOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none" || topLevel(r)
}

// topLevel is somebody following a link to the page itself or to a message.
func topLevel(r *http.Request) bool {
	page := r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/archives/")
	return page && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// isLoopback reports whether host, with or without a port, is this machine
// talking to itself.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}
