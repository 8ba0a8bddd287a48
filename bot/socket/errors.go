package socket

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// OpenError is a refusal of apps.connections.open. Config.Open returns it so
// that the transport can tell a refused token from a bad moment.
type OpenError struct {
	// Code is Slack's error code, such as "invalid_auth"; "" if there was none.
	Code string
	// RetryAfter is how long Slack asks to wait; 0 if it did not say.
	RetryAfter time.Duration
	// Err is what happened below; may be nil.
	Err error
}

func (e *OpenError) Error() string {
	switch {
	case e.RetryAfter > 0:
		return fmt.Sprintf("slack asks to wait %s before the next connection", e.RetryAfter)
	case e.Code != "":
		return "slack refused a connection: " + e.Code
	case e.Err != nil:
		return "slack gave no connection: " + e.Err.Error()
	}
	return "slack gave no connection"
}

// Unwrap returns Err.
func (e *OpenError) Unwrap() error { return e.Err }

// AuthError ends Run: Slack kept refusing the app-level token.
type AuthError struct {
	// Code is Slack's error code.
	Code string
	// Attempts is how often in a row the token was refused.
	Attempts int
}

func (e *AuthError) Error() string {
	advice := authAdvice[e.Code]
	return fmt.Sprintf("Slack refuses the app-level token (%s, %d times in a row): %s", e.Code, e.Attempts, advice)
}

// authAdvice names the error codes that no retry cures, with what to do.
// Source: the error lists of apps.connections.open and auth.test.
var authAdvice = map[string]string{
	"not_authed":             "set SLACK_APP_TOKEN to an app-level token (xapp-…)",
	"invalid_auth":           "check SLACK_APP_TOKEN, and that this machine's address is on the app's list of allowed addresses if it has one",
	"account_inactive":       "the workspace or the app was deactivated",
	"user_removed_from_team": "the app was removed from the workspace",
	"team_disabled":          "the workspace was disabled",
	"token_revoked":          "make a new app-level token with the scope connections:write",
	"token_expired":          "make a new app-level token with the scope connections:write",
	"missing_scope":          "the app-level token needs the scope connections:write",
	"not_allowed_token_type": "SLACK_APP_TOKEN must be an app-level token (xapp-…), not a bot token (xoxb-…)",
	"forbidden_team":         "the token belongs to another workspace",
	"access_denied":          "the workspace does not let this app connect",
}

// Reasons why a connection ended, beside what the network reports.
var (
	errDead      = errors.New("no frame from slack in time")
	errNoPong    = errors.New("slack did not answer a ping in time")
	errNoHello   = errors.New("slack did not greet in time")
	errNoURL     = errors.New("slack returned no connection url")
	errAckFailed = errors.New("an acknowledgement could not be written")
	errStopped   = errors.New("transport stopped")
)

// disconnectError is a disconnect message of Slack.
type disconnectError struct{ reason string }

func (e *disconnectError) Error() string { return "slack disconnects: " + clip(e.reason) }

// withoutURL drops the address that net/http puts into its errors: the
// connection's URL holds a ticket, which is a secret.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return fmt.Errorf("%s: %w", withURL.Op, withURL.Err)
	}
	return err
}

// clip shortens a word of Slack's for logs.
func clip(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
