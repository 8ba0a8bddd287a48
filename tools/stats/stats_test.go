package stats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/tools"
	"countersign/tools/stats"
)

// calculate gives the measures by name.
func calculate(tb testing.TB, raw string) (map[string]string, error) {
	tb.Helper()
	tool := stats.New()
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		tb.Fatal(err)
	}
	args, err := tools.Parse(registry.Schema("calculate_stats"), raw)
	if err != nil {
		return nil, err
	}
	result, err := tools.Execute(tb.Context(), tool, tools.Call{Args: args.Canonical})
	if err != nil {
		return nil, err
	}
	measures := map[string]string{}
	for line := range strings.Lines(result.Text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		measures[name] = value
	}
	return measures, nil
}

func TestCalculateStats(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]map[string]string{
		`[100,200,300]`: {"count": "3", "sum": "600", "mean": "200", "median": "200", "min": "100", "max": "300",
			"stddev (population)": "≈ 81.649658092773", "stddev (sample)": "100"},
		`[0.1,0.2]`: {"count": "2", "sum": "0.3", "mean": "0.15", "median": "0.15", "min": "0.1", "max": "0.2",
			"stddev (population)": "0.05", "stddev (sample)": "≈ 0.070710678119"},
		`["7"]`: {"count": "1", "sum": "7", "mean": "7", "median": "7", "min": "7", "max": "7", "stddev (population)": "0"},
		`[1,1,2]`: {"count": "3", "sum": "4", "mean": "≈ 1.333333333333", "median": "1", "min": "1", "max": "2",
			"stddev (population)": "≈ 0.471404520791", "stddev (sample)": "≈ 0.57735026919"},
		`[-5, 1e2, 12345678901234567890.01]`: {"count": "3", "sum": "12345678901234567985.01", "mean": "4115226300411522661.67",
			"median": "100", "min": "-5", "max": "12345678901234567890.01",
			"stddev (population)": "≈ 5819808846276432019.410937345638", "stddev (sample)": "≈ 7127781036956460976.002970962568"},
	} {
		got, err := calculate(t, `{"numbers":`+raw+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

func TestCalculateStatsRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{}`, `{"numbers":[]}`, `{"numbers":["a"]}`, `{"numbers":7}`, `{"numbers":[1,null]}`, `{"numbers":[1e999]}`} {
		_, err := calculate(t, raw)
		failure := (*tools.Failure)(nil)
		if !errors.As(err, &failure) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// Money adds up to the cent, however many amounts there are and in any order.
func TestSumIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		cents := rapid.SliceOfN(rapid.Int64Range(-1e12, 1e12), 1, 50).Draw(rt, "cents")
		var texts []string
		total := new(big.Rat)
		for _, c := range cents {
			r := big.NewRat(c, 100)
			texts = append(texts, r.FloatString(2))
			total.Add(total, r)
		}
		got, err := calculate(t, fmt.Sprintf(`{"numbers":[%s]}`, strings.Join(texts, ",")))
		if err != nil {
			rt.Fatal(err)
		}
		sum, ok := new(big.Rat).SetString(got["sum"])
		if !ok || sum.Cmp(total) != 0 {
			rt.Fatalf("sum %s, want %s", got["sum"], total.FloatString(2))
		}
	})
}

func TestLongNumbersStayReadable(t *testing.T) {
	t.Parallel()
	numbers := make([]json.Number, 1024)
	for i := range numbers {
		numbers[i] = json.Number("1e-30")
	}
	numbers[0] = "1e200"
	raw, err := json.Marshal(map[string]any{"numbers": numbers})
	if err != nil {
		t.Fatal(err)
	}
	got, err := calculate(t, string(raw))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range got {
		if len(value) > 260 {
			t.Errorf("%s has %d characters", name, len(value))
		}
	}
}
