// Package api is countersign over HTTP for programs: start a run, look at it, wake it,
// decide an approval; and hooks that start runs. It is an edge like Slack's: a
// decision enters through the same door, under the same rules.
package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"time"

	"countersign/agent"
	"countersign/approvals/decisions"
	"countersign/approvals/policy"
	"countersign/internal/audit"
)

// Scope is what a token may be used for: one of the two, never both, so that no
// program both asks and approves.
type Scope string

// The scopes.
const (
	Ask    Scope = "ask"    // start runs, look at them, wake them
	Decide Scope = "decide" // look at runs with something to decide, and decide it
)

// Token is a bearer token as it is known; the secret itself is kept nowhere.
type Token struct {
	Name      string
	Scope     Scope
	Owner     policy.Actor // decides, or answers for what the token asks
	Roles     []string     // of what it asks; none: LOW tools alone
	CreatedAt time.Time
	ExpiresAt time.Time
	RevokedAt time.Time // zero: not revoked
}

// Valid says whether the token counts at an instant.
func (t *Token) Valid(now time.Time) bool { return t.RevokedAt.IsZero() && now.Before(t.ExpiresAt) }

// Asker is who asks when the token is used.
func (t *Token) Asker() policy.Actor {
	return policy.Actor{Team: t.Owner.Team, User: "token/" + t.Name}
}

// NewSecret makes a token's secret: 260 random bits behind a prefix that scanners can find.
func NewSecret() string { return "csgn_" + rand.Text() + rand.Text() }

// Hash is what is kept of a secret. The secret is random, so a plain hash does.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Tokens finds tokens. internal/store implements it.
type Tokens interface {
	// TokenOf finds a token by the hash of its secret: agent.ErrNotFound when there is none.
	TokenOf(ctx context.Context, hash string) (Token, error)
}

// Runs starts runs. The agent implements it.
type Runs interface {
	Begin(ctx context.Context, o agent.Order) (agent.Accepted, error)
}

// Views reads runs and wakes them. internal/store implements it.
type Views interface {
	// Load reads a run: agent.ErrNotFound when there is none.
	Load(ctx context.Context, run string) (*agent.Work, error)
	// Case reads an approval: agent.ErrNotFound when there is none.
	Case(ctx context.Context, approval string) (*decisions.Case, error)
	// Order wakes a run and records who did it: agent.ErrSettled when it has ended.
	Order(ctx context.Context, run string, m *agent.Message, e audit.Entry) error
}

// Door is where verdicts enter.
type Door interface {
	Decide(ctx context.Context, t decisions.Attempt) (decisions.Outcome, error)
}

// Hook is what may start runs from outside.
type Hook struct {
	Name    string
	Secret  string // the bearer token that the caller sends
	Channel string
	Text    string // the instruction
	Owner   policy.Actor
}

// Config wires a Server. Every field is required but those with a remark.
type Config struct {
	Tokens       Tokens
	Runs         Runs
	Views        Views
	Door         Door
	Directory    agent.Directory
	Mask         func(string) string // hides secrets in what is told
	Installation string
	Channel      string // of runs that programs start; empty: they start none
	Alertmanager *Hook  // nil: there is no such hook
	Now          func() time.Time
	Logger       *slog.Logger
}

// Server answers under /v1/.
type Server struct {
	Config
	mux *http.ServeMux
}

// New makes a Server.
func New(c Config) *Server {
	s := &Server{Config: c, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /v1/openapi.json", document)
	s.mux.Handle("POST /v1/runs", s.with(Ask, s.startRun))
	s.mux.Handle("GET /v1/runs/{id}", s.with("", s.showRun))
	s.mux.Handle("POST /v1/runs/{id}/resume", s.with(Ask, s.resumeRun))
	s.mux.Handle("POST /v1/approvals/{id}/decisions", s.with(Decide, s.decide))
	s.mux.HandleFunc("POST "+alertmanagerPath, s.alertmanager)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bound := int64(mostBody)
	if r.URL.Path == alertmanagerPath {
		bound = mostGroup
	}
	r.Body = http.MaxBytesReader(w, r.Body, bound)
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

const alertmanagerPath = "/v1/hooks/alertmanager"

// Bounds of one request. Alertmanager sends all alerts of a group at once and gives a
// group up that is refused, so a storm of them is read; of what it holds little is kept.
const (
	mostBody  = 1 << 20
	mostGroup = 32 << 20
	patience  = 20 * time.Second
)
