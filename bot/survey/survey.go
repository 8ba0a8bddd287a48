// Package survey asks Slack what an operator wants to know: what a token may do,
// whether a socket opens, where the bot is a member, who people and user groups
// are. It changes nothing.
package survey

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"countersign/approvals/policy"
	"countersign/bot"
)

// Config says whom to ask.
type Config struct {
	BotToken string
	AppToken string
	Address  string // of the Web API, with a slash at its end; empty: Slack's own
	Client   *http.Client
	Now      func() time.Time
}

// Survey asks one workspace.
type Survey struct {
	cfg  Config
	edge *bot.Edge
}

// New makes a Survey.
func New(c Config) *Survey {
	return &Survey{cfg: c, edge: bot.NewEdge(c.BotToken, c.AppToken, c.Address, c.Client)}
}

// Refused is an answer of Slack that says no.
type Refused struct {
	Code   string // Slack's error code
	Needed string // the scope that was missing, as Slack names it
}

// Error gives Slack's code.
func (r *Refused) Error() string {
	if r.Needed != "" {
		return "Slack answers " + r.Code + " (" + r.Needed + ")"
	}
	return "Slack answers " + r.Code
}

// ErrUnreachable says that Slack gave no answer at all.
var ErrUnreachable = errors.New("slack cannot be reached")

// refusal sorts an error of the client.
func refusal(err error) error {
	var said slack.SlackErrorResponse
	var limited *slack.RateLimitedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said):
		return &Refused{Code: said.Err, Needed: said.Needed}
	case errors.As(err, &limited):
		return &Refused{Code: "ratelimited"}
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// Token is what Slack says of the bot token.
type Token struct {
	Self   bot.Self
	Team   string   // the workspace's name
	Scopes []string // nil: Slack did not say
	// Skew is how far our clock is ahead of Slack's, and Within how exactly that
	// is known: the header has whole seconds, and the call took its time.
	Skew   time.Duration
	Within time.Duration
	Dated  bool // Slack sent a date
}

// Token asks who the bot token belongs to and what it may do.
func (s *Survey) Token(ctx context.Context) (Token, error) {
	before := s.cfg.Now()
	r, err := s.edge.API.AuthTestContext(ctx)
	after := s.cfg.Now()
	if err != nil {
		return Token{}, refusal(err)
	}
	t := Token{Self: bot.Self{Team: r.TeamID, User: r.UserID, Bot: r.BotID, Name: r.User, Enterprise: r.EnterpriseID}, Team: r.Team}
	if h := r.Header.Get("X-OAuth-Scopes"); h != "" {
		for scope := range strings.SplitSeq(h, ",") {
			t.Scopes = append(t.Scopes, strings.TrimSpace(scope))
		}
	}
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		// The header names the second in which the answer was written.
		took := after.Sub(before)
		t.Skew, t.Within, t.Dated = before.Add(took/2).Sub(date.Add(time.Second/2)), took/2+time.Second/2, true
	}
	return t, nil
}

// Person says who somebody is in the bot's workspace.
func (s *Survey) Person(ctx context.Context, self bot.Self, user string) (policy.Person, error) {
	none := func() *policy.Policy { return &policy.Policy{} }
	p, err := bot.NewDirectory(s.edge.API, self, none, s.cfg.Now).Person(ctx, policy.Actor{Team: self.Team, User: user}, true)
	return p, refusal(err)
}
