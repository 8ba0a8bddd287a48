package metrics

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// valueTicks gives four to about nine round values that enclose low and high.
func valueTicks(low, high float64) []float64 {
	if low == high {
		spread := math.Max(math.Abs(low)*0.1, 1e-9)
		if low == math.Trunc(low) && math.Abs(low) < 10 {
			spread = 1
		}
		low, high = low-spread, high+spread
		if low < 0 && low+spread >= 0 {
			low = 0 // what cannot be negative does not look as if it were
		}
	}
	step := roundStep(high/5 - low/5)
	first := math.Floor(low / step)
	var ticks []float64
	for i := range 12 {
		v := (first + float64(i)) * step
		ticks = append(ticks, v)
		if i > 0 && v >= high {
			break
		}
	}
	return ticks
}

// roundStep gives 1, 2 or 5 times a power of ten, not less than rough.
func roundStep(rough float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= rough*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// prefixes of the International System of Units, the largest first.
var prefixes = []struct {
	factor float64
	letter string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// tickLabel writes a value of an axis whose neighbours are a step away.
func tickLabel(v, step float64) string {
	if math.Abs(v) >= 1e15 || v != 0 && math.Abs(step) < 1e-6 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, p := range prefixes {
		if math.Abs(v) >= p.factor {
			return decimals(v/p.factor, step/p.factor) + p.letter
		}
	}
	return decimals(v, step)
}

// decimals writes as many digits as tell neighbours apart.
func decimals(v, step float64) string {
	digits := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// spans are the times between two marks of the time axis, and how such a mark is written.
var spans = []struct {
	step   time.Duration
	layout string
}{
	{time.Second, "15:04:05"}, {5 * time.Second, "15:04:05"}, {10 * time.Second, "15:04:05"}, {30 * time.Second, "15:04:05"},
	{time.Minute, "15:04"}, {2 * time.Minute, "15:04"}, {5 * time.Minute, "15:04"}, {10 * time.Minute, "15:04"}, {30 * time.Minute, "15:04"},
	{time.Hour, "15:04"}, {2 * time.Hour, "15:04"}, {3 * time.Hour, "01-02 15:04"}, {6 * time.Hour, "01-02 15:04"}, {12 * time.Hour, "01-02 15:04"},
	{24 * time.Hour, "01-02"}, {2 * 24 * time.Hour, "01-02"}, {7 * 24 * time.Hour, "01-02"}, {14 * 24 * time.Hour, "01-02"},
	{30 * 24 * time.Hour, "2006-01-02"}, {90 * 24 * time.Hour, "2006-01-02"},
}

// maxMarks is how many marks of times have room.
const maxMarks = 7

// timeTicks gives round moments between two others, in UTC, and how to write them.
func timeTicks(from, to time.Time) ([]time.Time, string) {
	span := spans[len(spans)-1]
	for _, s := range spans {
		if to.Sub(from)/s.step < maxMarks {
			span = s
			break
		}
	}
	var ticks []time.Time
	for t := from.Truncate(span.step); !t.After(to); t = t.Add(span.step) {
		if !t.Before(from) {
			ticks = append(ticks, t)
		}
	}
	return ticks, span.layout
}
