package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"countersign/agent"
)

// failure is what a request gets that is not answered: a code for programs and a
// sentence for people.
type failure struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error makes it an error.
func (f *failure) Error() string { return f.Code + ": " + f.Message }

func fail(status int, code, message string) *failure { return &failure{status, code, message} }

// handler answers a request of a token.
type handler func(r *http.Request, t *Token) (status int, body any, err error)

// with lets a request in whose token is valid and of the scope; an empty scope takes any.
func (s *Server) with(scope Scope, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, err := s.admit(r, scope)
		if err != nil {
			s.answer(w, r, 0, nil, err)
			return
		}
		status, body, err := h(r, t)
		s.answer(w, r, status, body, err)
	})
}

// admit finds the token of a request. Unknown, expired and revoked look alike.
func (s *Server) admit(r *http.Request, scope Scope) (*Token, error) {
	no := fail(http.StatusUnauthorized, "unauthorized", "There is no valid bearer token: `countersign tokens create` makes one.")
	secret := bearer(r)
	if secret == "" {
		return nil, no
	}
	t, err := s.Tokens.TokenOf(r.Context(), Hash(secret))
	switch {
	case errors.Is(err, agent.ErrNotFound) || err == nil && !t.Valid(s.Now()):
		return nil, no
	case err != nil:
		return nil, err
	case scope != "" && t.Scope != scope:
		return nil, fail(http.StatusForbidden, "scope", "This token has the scope "+string(t.Scope)+"; this needs the scope "+string(scope)+".")
	}
	return &t, nil
}

func bearer(r *http.Request) string {
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// answer writes the body, or what went wrong. Causes are for the log alone.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, body any, err error) {
	if err != nil {
		var f *failure
		switch {
		case errors.As(err, &f):
		case errors.Is(err, agent.ErrNotFound):
			f = fail(http.StatusNotFound, "not_found", "There is no such thing, or it is not for this token.")
		case errors.Is(err, agent.ErrSettled):
			f = fail(http.StatusConflict, "settled", "It has ended.")
		default:
			s.Logger.WarnContext(r.Context(), "a request could not be answered", "path", r.URL.Path, "error", err)
			f = fail(http.StatusServiceUnavailable, "unavailable", "It cannot be done right now, or it was done and nobody heard of it: look before you try again.")
		}
		status, body = f.status, f
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.Logger.DebugContext(r.Context(), "the caller is gone", "error", err)
	}
}

// read reads a body strictly: what is not known is an error, not ignored.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fail(http.StatusBadRequest, "bad_request", "The body is not what GET /v1/openapi.json says: "+err.Error())
	}
	if d.More() {
		return fail(http.StatusBadRequest, "bad_request", "The body is more than one JSON value.")
	}
	return nil
}
