package socket

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/slack-go/slack"
)

// defaultRetryAfter is used when Slack limits us without saying for how long;
// its limits are counted in windows of one minute.
const defaultRetryAfter = 30 * time.Second

// WebAPI returns an Open function that asks Slack's Web API for a connection
// URL. The client must carry the app-level token and should not be in debug
// mode: slack-go then asks for connections that live six minutes.
func WebAPI(api *slack.Client) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		_, url, err := api.StartSocketModeContext(ctx)
		if err != nil {
			return "", openError(err)
		}
		return url, nil
	}
}

// openError turns slack-go's errors into ours.
func openError(err error) error {
	var limited *slack.RateLimitedError
	if errors.As(err, &limited) {
		return &OpenError{RetryAfter: max(limited.RetryAfter, time.Second), Err: err}
	}
	var refusal slack.SlackErrorResponse
	if errors.As(err, &refusal) {
		out := &OpenError{Code: refusal.Err, Err: err}
		if refusal.Err == "ratelimited" || refusal.Err == "rate_limited" {
			out.RetryAfter = defaultRetryAfter
		}
		return out
	}
	var status slack.StatusCodeError
	if errors.As(err, &status) && status.Code == http.StatusTooManyRequests {
		return &OpenError{RetryAfter: defaultRetryAfter, Err: err}
	}
	return &OpenError{Err: withoutURL(err)}
}
