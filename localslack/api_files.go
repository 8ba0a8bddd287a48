package localslack

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// maxUpload bounds an uploaded file, in bytes.
const maxUpload = 32 << 20

func fileMethods() map[string]method {
	return map[string]method{
		"files.getUploadURLExternal":   {run: (*Server).filesGetUploadURL, scope: "files:write", tier: tier4},
		"files.completeUploadExternal": {run: (*Server).filesCompleteUpload, scope: "files:write", tier: tier4},
		"files.info":                   {run: (*Server).filesInfo, scope: "files:read", tier: tier4},
	}
}

func (s *Server) filesGetUploadURL(c call) (reply, error) {
	name, err := c.args.need("filename")
	if err != nil {
		return nil, err
	}
	if c.args.number("length", 0) < 1 {
		return nil, missingField("length")
	}
	s.ws.mu.Lock()
	id := s.ws.id("F")
	s.ws.mu.Unlock()
	key := secret()
	s.handles.mu.Lock()
	defer s.handles.mu.Unlock()
	s.handles.uploads[key] = &File{ID: id, Name: name, User: s.ws.app.UserID, Mimetype: mimetype(name)}
	return reply{"upload_url": s.uploadHost() + "/upload/v1/" + key, "file_id": id}, nil
}

// uploadHost is this server, on demand under another name, since Slack's upload
// host is not its API host.
func (s *Server) uploadHost() string {
	u, err := url.Parse(s.base)
	if !s.cfg.UploadElsewhere || err != nil || u.Hostname() != "127.0.0.1" {
		return s.base
	}
	return "http://localhost:" + u.Port()
}

func mimetype(name string) string {
	if t := mime.TypeByExtension(filepath.Ext(name)); t != "" {
		kind, _, _ := strings.Cut(t, ";")
		return kind
	}
	return "application/octet-stream"
}

// serveUpload takes the bytes: a raw body, or a form with a file.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	content, err := uploaded(w, r)
	if err != nil {
		http.Error(w, "upload failed", http.StatusBadRequest)
		return
	}
	s.handles.mu.Lock()
	defer s.handles.mu.Unlock()
	f, ok := s.handles.uploads[key]
	if !ok {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	f.Content = content
	fmt.Fprintf(w, "OK - %d", len(content))
}

func uploaded(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return io.ReadAll(r.Body)
	}
	if err := r.ParseMultipartForm(maxUpload); err != nil {
		return nil, err
	}
	for _, headers := range r.MultipartForm.File {
		f, err := headers[0].Open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	}
	return nil, http.ErrMissingFile
}

// takeUploads finds the uploaded files that a call completes.
func (s *Server) takeUploads(raw json.RawMessage) ([]File, error) {
	var want []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal(raw, &want) != nil || len(want) == 0 {
		return nil, missingField("files")
	}
	s.handles.mu.Lock()
	defer s.handles.mu.Unlock()
	var out []File
	for _, x := range want {
		key, f := s.handles.upload(x.ID)
		switch {
		case f == nil:
			return nil, refuse("file_not_found")
		case len(f.Content) == 0:
			return nil, refuse("file_upload_size_mismatch") // nothing was sent to the upload address
		}
		f.Title, f.Created = x.Title, s.cfg.Now()
		if f.Title == "" {
			f.Title = f.Name
		}
		out = append(out, *f)
		delete(s.handles.uploads, key)
	}
	return out, nil
}

func (h *handles) upload(id string) (string, *File) {
	for key, f := range h.uploads {
		if f.ID == id {
			return key, f
		}
	}
	return "", nil
}

func (s *Server) filesCompleteUpload(c call) (reply, error) {
	raw, err := c.args.object("files")
	if err != nil {
		return nil, err
	}
	files, err := s.takeUploads(raw)
	if err != nil {
		return nil, err
	}
	channel := c.args.str("channel_id")
	var out []object
	err = s.ws.update(func(ch *change) error {
		var room Channel
		if channel != "" {
			if room, err = ch.roomForPost(channel, c.args.str("thread_ts")); err != nil {
				return err
			}
		}
		var ids []string
		for _, f := range files {
			if channel != "" {
				f.Channels = []string{room.ID}
			}
			ch.putFile(f)
			ids = append(ids, f.ID)
			out = append(out, ch.w.wireFile(f))
		}
		if channel != "" {
			m := ch.w.botMessage(room.ID, draft{text: c.args.str("initial_comment")})
			m.ThreadTS, m.Files, m.Subtype = c.args.str("thread_ts"), ids, "file_share"
			ch.post(m)
		}
		return nil
	})
	return reply{"files": out}, err
}

func (s *Server) filesInfo(c call) (reply, error) {
	f, ok := s.ws.File(c.args.str("file"))
	if !ok {
		return nil, refuse("file_not_found")
	}
	return reply{"file": s.ws.wireFile(f), "comments": []any{}}, nil
}

func (w *Workspace) wireFile(f File) object {
	return object{
		"id": f.ID, "name": f.Name, "title": f.Title, "user": f.User, "mimetype": f.Mimetype, "size": len(f.Content),
		"filetype": strings.TrimPrefix(filepath.Ext(f.Name), "."), "mode": "hosted", "is_external": false, "is_public": false,
		"created": f.Created.Unix(), "timestamp": f.Created.Unix(), "channels": f.Channels,
		"url_private": w.base + "/files/" + f.ID + "/" + url.PathEscape(f.Name), "url_private_download": w.base + "/files/" + f.ID + "/" + url.PathEscape(f.Name),
	}
}

// serveFile is url_private: the bot's token opens it.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files/"), "/")
	f, ok := s.ws.File(id)
	bot, _ := s.tokens()
	if r.Header.Get("Authorization") != "Bearer "+bot || !ok {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.Mimetype)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(f.Content)))
}
