package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// moved is a series of one value for each step.
func moved(name string, p plan, f func(i int) float64) series {
	s := series{Metric: map[string]string{"__name__": "load", "host": name}}
	for i, at := 0, p.from; !at.After(p.at); i, at = i+1, at.Add(p.step) {
		s.Values = append(s.Values, sample{at: at, value: strconv.FormatFloat(f(i), 'g', -1, 64)})
	}
	return s
}

func TestChart(t *testing.T) {
	t.Parallel()
	hour := plan{from: noon.Add(-time.Hour), at: noon, step: time.Minute}
	month := plan{from: noon.Add(-30 * 24 * time.Hour), at: noon, step: 6 * time.Hour}
	wave := func(high float64) func(int) float64 {
		return func(i int) float64 { return high * (1 + math.Sin(float64(i)/8)) }
	}
	gaps := func(i int) float64 {
		if i%20 > 14 {
			return math.NaN()
		}
		return float64(i * 30)
	}
	var many []series
	for i := range maxLegend + 3 {
		many = append(many, moved(fmt.Sprintf("host-%d-余额-%s", i, strings.Repeat("x", 20*i)), month, wave(float64(i+1)*1e6)))
	}
	for name, c := range map[string]struct {
		plan plan
		all  []series
	}{
		"two":   {hour, []series{moved("a", hour, wave(700)), moved("b", hour, gaps)}},
		"flat":  {hour, []series{moved("a", hour, func(int) float64 { return 1 })}},
		"many":  {month, many},
		"empty": {hour, []series{moved("a", hour, func(int) float64 { return math.Inf(1) })}},
	} {
		got, err := draw(c.plan, c.all)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".png")
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(pixels(t, mustRead(t, path)), pixels(t, got)); diff != "" {
			t.Errorf("%s looks different; see it with -update", name)
		}
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pixels compares pictures, not how they are compressed.
func pixels(t *testing.T, picture []byte) string {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			b.WriteByte(byte(r>>8) ^ byte(g>>9) ^ byte(bl>>10))
		}
	}
	return b.String()
}

func TestValueTicks(t *testing.T) {
	t.Parallel()
	labels := func(low, high float64) string {
		ticks := valueTicks(low, high)
		var out []string
		for _, v := range ticks {
			out = append(out, tickLabel(v, ticks[1]-ticks[0]))
		}
		if ticks[0] > low || ticks[len(ticks)-1] < high || len(ticks) > 9 {
			t.Errorf("%g to %g: %v", low, high, ticks)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 100, "0 20 40 60 80 100"},
		{0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{1, 1, "0 0.5 1 1.5 2"},
		{0, 0, "0 0.2 0.4 0.6 0.8 1"},
		{-3, 8, "-5 0 5 10"},
		{0, 2.3e9, "0 500M 1G 1.5G 2G 2.5G"},
		{0.001, 0.0023, "0.001 0.0015 0.002 0.0025"},
		{99.5, 100, "99.5 99.6 99.7 99.8 99.9 100"},
		{1000000, 1000050, "1M 1.00001M 1.00002M 1.00003M 1.00004M 1.00005M"},
		{-1e300, 1e300, "-1e+300 -5e+299 0 5e+299 1e+300"},
	} {
		if got := labels(c.low, c.high); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestTimeTicks(t *testing.T) {
	t.Parallel()
	for length, want := range map[time.Duration]string{
		5 * time.Second:      "11:59:55 11:59:56 11:59:57 11:59:58 11:59:59 12:00:00",
		5 * time.Minute:      "11:55 11:56 11:57 11:58 11:59 12:00",
		time.Hour:            "11:00 11:10 11:20 11:30 11:40 11:50 12:00",
		24 * time.Hour:       "02-28 12:00 02-28 18:00 03-01 00:00 03-01 06:00 03-01 12:00",
		7 * 24 * time.Hour:   "02-24 02-26 02-28",
		365 * 24 * time.Hour: "2025-04-10 2025-07-09 2025-10-07 2026-01-05",
	} {
		ticks, layout := timeTicks(noon.Add(-length), noon)
		var got []string
		for _, tick := range ticks {
			got = append(got, tick.Format(layout))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", length, strings.Join(got, " "), want)
		}
	}
}
