package openai

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longestRetry bounds how long a run is put off at a server's word: it is asked
// again after that, whatever it said.
const longestRetry = time.Hour

// delayIn finds Google's retryDelay ("12s") among the details of an error.
func delayIn(v any) time.Duration {
	list, ok := v.([]any)
	if !ok {
		return 0
	}
	for _, d := range list {
		if m, ok := d.(map[string]any); ok {
			if s, ok := m["retryDelay"].(string); ok {
				if d, err := time.ParseDuration(s); err == nil && d > 0 {
					return d
				}
			}
		}
	}
	return 0
}

// retryAfter reads the header, in seconds or as a date; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if server, err := http.ParseTime(h.Get("Date")); err == nil {
		now = server // its date is by its own clock
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// delayWords is how servers tell in their message when to come back.
var delayWords = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?)\s*(ms|s)`)

// delayTold reads the delay out of a message; 0 when it tells none.
func delayTold(message string) time.Duration {
	m := delayWords.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1] + strings.ToLower(m[2]))
	if err != nil {
		return 0
	}
	return d
}
