package metrics

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are Prometheus's, the longest names first where one begins another.
var units = []struct {
	name string
	is   time.Duration
}{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour},
	{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour},
}

var errDuration = errors.New("not a duration")

// duration reads a time as Prometheus writes it: 90s, 1h30m, 7d. It is never zero.
func duration(text string) (time.Duration, error) {
	var total time.Duration
	for rest := strings.TrimSpace(text); rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil {
			return 0, errDuration
		}
		unit, name := unitOf(rest[digits:])
		if unit == 0 || time.Duration(n) > math.MaxInt64/unit || total > math.MaxInt64-time.Duration(n)*unit {
			return 0, errDuration
		}
		total += time.Duration(n) * unit
		rest = rest[digits+len(name):]
	}
	if total <= 0 {
		return 0, errDuration
	}
	return total, nil
}

// unitOf gives the unit that a text begins with, 0 for none.
func unitOf(text string) (time.Duration, string) {
	for _, u := range units {
		if strings.HasPrefix(text, u.name) {
			return u.is, u.name
		}
	}
	return 0, ""
}

// written is a duration in the same form, rounded up to a second.
func written(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10) + "s"
}

// steps are the times between two points that read well.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// usualPoints is how many points a range has where no step is asked for.
const usualPoints = 120

// stepFor gives the shortest step with not many more than the usual points.
func stepFor(length time.Duration) time.Duration {
	for _, step := range steps {
		if length/step <= usualPoints {
			return step
		}
	}
	const day = 24 * time.Hour
	days := int(length / (usualPoints * day))
	return time.Duration(days+1) * day
}

// moment reads the argument at.
func (s *server) moment(text string) (time.Time, error) {
	if text == "" {
		return s.now().UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	const farthest = 1 << 36 // seconds: two thousand years
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < farthest {
		return time.UnixMilli(int64(seconds * 1000)).UTC(), nil
	}
	return time.Time{}, wrong("at", "it must be a moment like 2026-01-31T15:04:05Z, or Unix seconds")
}
