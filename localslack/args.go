package localslack

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxBody bounds what one call may send; Slack's own limit is not published.
const maxBody = 4 << 20

// args are the arguments of one call, whichever way they were sent: a form
// value is kept as a JSON string.
type args map[string]json.RawMessage

// readArgs reads the query, then a form, multipart or JSON body. asJSON tells
// that the body was JSON without a charset, about which Slack warns.
func readArgs(r *http.Request) (a args, warn string, err error) {
	a = args{}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	for k, v := range r.URL.Query() {
		a.setString(k, v[0])
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		if params["charset"] == "" {
			warn = "missing_charset"
		}
		return a, warn, a.readJSON(r.Body)
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, "", refuse("invalid_multipart_form_data")
		}
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return nil, "", refuse("invalid_form_data")
		}
	case "":
		return a, "", nil
	default:
		return nil, "", refuse("invalid_post_type")
	}
	for k, v := range r.PostForm {
		a.setString(k, v[0])
	}
	return a, "", nil
}

func (a args) readJSON(body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return refuse("request_timeout")
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	if !json.Valid(raw) {
		return refuse("invalid_json")
	}
	if raw[0] != '{' {
		return refuse("json_not_object")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return refuse("invalid_json")
	}
	for k, v := range m {
		if string(v) != "null" {
			a[k] = v
		}
	}
	return nil
}

func (a args) setString(key, value string) {
	raw, _ := json.Marshal(value) // a string always marshals
	a[key] = raw
}

func (a args) has(key string) bool {
	_, ok := a[key]
	return ok
}

// str is the argument as text; numbers and booleans as they were written.
func (a args) str(key string) string {
	raw, ok := a[key]
	if !ok {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// need is str for an argument that must be there.
func (a args) need(key string) (string, error) {
	if s := a.str(key); s != "" {
		return s, nil
	}
	return "", missingField(key)
}

// object is the argument as JSON: as it came, or parsed from a form's string.
// It is nil when the argument is missing or empty.
func (a args) object(key string) (json.RawMessage, error) {
	raw, ok := a[key]
	if !ok {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		raw = json.RawMessage(strings.TrimSpace(s))
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, refuse("invalid_arguments", "[ERROR] not valid JSON: "+key)
	}
	return raw, nil
}

func (a args) flag(key string, otherwise bool) bool {
	switch strings.ToLower(a.str(key)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return otherwise
}

func (a args) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(a.str(key)); err == nil {
		return n
	}
	return otherwise
}

// list is a comma-separated argument or a JSON array of strings.
func (a args) list(key string) []string {
	var out []string
	if raw, ok := a[key]; ok && json.Unmarshal(raw, &out) == nil {
		return out
	}
	for part := range strings.SplitSeq(a.str(key), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
