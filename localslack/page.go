package localslack

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

//go:embed web/index.html web/icon.svg web/css web/js
var pageFiles embed.FS

// page is the web page: one person's view of the workspace in a browser, and
// what that person does. It holds no state of its own.
type page struct {
	server *Server
	config PageConfig
	static fs.FS
}

// NewPage serves the web page at "/". Everything that reads or changes the
// workspace lies under "/page/" and answers to a browser on this machine only.
func NewPage(s *Server, cfg PageConfig) http.Handler {
	static, err := fs.Sub(pageFiles, "web")
	if err != nil {
		panic(err) // the folder is embedded above: this is a build that cannot exist
	}
	p := &page{server: s, config: cfg, static: static}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.index)
	mux.HandleFunc("GET /web/{name...}", p.asset)
	mux.HandleFunc("GET /archives/{channel}/{message}", p.permalink)
	mux.HandleFunc("GET /page/state", p.state)
	mux.HandleFunc("GET /page/events", p.events)
	mux.HandleFunc("GET /page/file/{id}", p.file)
	for name, act := range p.acts() {
		mux.HandleFunc("POST /page/"+name, p.acting(act))
	}
	return guard(mux)
}

func (p *page) index(w http.ResponseWriter, r *http.Request) { p.serveStatic(w, r, "index.html") }

func (p *page) asset(w http.ResponseWriter, r *http.Request) {
	p.serveStatic(w, r, r.PathValue("name"))
}

func (p *page) serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	body, err := fs.ReadFile(p.static, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "no-cache") // a new binary brings a new page at once
	_, _ = w.Write(body)
}

// contentType does not ask the system's table: on some machines that serves
// scripts as plain text, which browsers refuse to run.
func contentType(name string) string {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "html":
		return "text/html; charset=utf-8"
	case "css":
		return "text/css; charset=utf-8"
	case "js":
		return "text/javascript; charset=utf-8"
	case "svg":
		return "image/svg+xml"
	default:
		return "application/octet-stream"
	}
}

// permalink opens what chat.getPermalink names: /archives/C…/p and the ts
// without its dot; the thread is in the query. The dash stands for whoever this
// browser was last.
func (p *page) permalink(w http.ResponseWriter, r *http.Request) {
	thread := r.URL.Query().Get("thread_ts")
	if ts := strings.TrimPrefix(r.PathValue("message"), "p"); thread == "" && len(ts) > 6 {
		thread = ts[:len(ts)-6] + "." + ts[len(ts)-6:]
	}
	http.Redirect(w, r, "/#/-/"+url.PathEscape(r.PathValue("channel"))+"/"+url.PathEscape(thread), http.StatusFound)
}

// file hands out an uploaded file. Only plain pictures are shown in place: what
// people and the bot upload must never run as a page of this origin.
func (p *page) file(w http.ResponseWriter, r *http.Request) {
	f, ok := p.server.Workspace().File(r.PathValue("id"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind, place := "application/octet-stream", "attachment"
	switch f.Mimetype {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		kind, place = f.Mimetype, "inline"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType(place, map[string]string{"filename": f.Name}))
	_, _ = w.Write(f.Content)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// writeError answers with Slack's own code where the server refused, and with
// internal_error where something broke.
func writeError(w http.ResponseWriter, err error) {
	var refused *Error
	if errors.As(err, &refused) {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": refused.Code})
		return
	}
	writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "internal_error"})
}
