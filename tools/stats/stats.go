// Package stats is the tool that calculates: models are bad at sums. Decimals
// are added as decimals, so that 0.1 and 0.2 make 0.3.
package stats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"countersign/tools"
)

// How many digits after the point a result shows.
const (
	decimals  = 12 // of one that is rounded
	mostExact = 40 // of one that is exact; beyond, it is rounded
)

// spec is the contract of calculate_stats. The schema is written by hand for
// the bounds that a Go type cannot say.
var spec = tools.Spec{
	Name: "calculate_stats",
	Description: "Calculates count, sum, mean, median, min, max and standard deviation of a list of numbers, exactly. " +
		"Use it instead of calculating yourself.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"numbers":{"type":"array","description":"The numbers.",` +
		`"items":{"type":"number"},"minItems":1,"maxItems":20000}},"required":["numbers"],"additionalProperties":false}`),
	Risk:     tools.Low,
	Parallel: true,
}

type input struct {
	Numbers []json.Number `json:"numbers"`
}

// calculator is the tool.
type calculator struct{}

// New returns calculate_stats.
func New() tools.Tool { return calculator{} }

// Spec implements tools.Tool.
func (calculator) Spec() tools.Spec { return spec }

// Call implements tools.Tool.
func (calculator) Call(_ context.Context, c tools.Call) (tools.Result, error) {
	var in input
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return tools.Result{}, fmt.Errorf("canonical arguments: %w", err)
	}
	numbers, err := rationals(in.Numbers)
	if err != nil {
		return tools.Result{}, err
	}
	rows := summarise(numbers)
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%s: %s\n", row[0], row[1])
	}
	return tools.Result{
		Text:    strings.TrimSuffix(b.String(), "\n"),
		Summary: fmt.Sprintf("%s numbers, sum %s, mean %s", rows[0][1], rows[1][1], rows[2][1]),
		Table:   &tools.Table{Columns: []string{"measure", "value"}, Rows: rows},
	}, nil
}

func rationals(texts []json.Number) ([]*big.Rat, error) {
	if len(texts) == 0 {
		return nil, &tools.Failure{Code: tools.InvalidArguments, Pointer: "/numbers", Message: "there must be at least one number"}
	}
	numbers := make([]*big.Rat, len(texts))
	for i, text := range texts {
		n, ok := new(big.Rat).SetString(text.String())
		if !ok {
			return nil, errors.New("a number passed validation and cannot be read")
		}
		numbers[i] = n
	}
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	return numbers, nil
}

// summarise takes sorted numbers, at least one.
func summarise(numbers []*big.Rat) [][]string {
	n := len(numbers)
	sum := new(big.Rat)
	for _, x := range numbers {
		sum.Add(sum, x)
	}
	mean := new(big.Rat).Quo(sum, count(n))
	squares := squaredDeviations(numbers, mean)
	rows := [][]string{
		{"count", fmt.Sprint(n)},
		{"sum", decimal(sum)},
		{"mean", decimal(mean)},
		{"median", decimal(median(numbers))},
		{"min", decimal(numbers[0])},
		{"max", decimal(numbers[n-1])},
		{"stddev (population)", root(new(big.Rat).Quo(squares, count(n)))},
	}
	if n > 1 {
		rows = append(rows, []string{"stddev (sample)", root(new(big.Rat).Quo(squares, count(n-1)))})
	}
	return rows
}

func count(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

func median(sorted []*big.Rat) *big.Rat {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	both := new(big.Rat).Add(sorted[n/2-1], sorted[n/2])
	return both.Quo(both, count(2))
}

func squaredDeviations(numbers []*big.Rat, mean *big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, x := range numbers {
		d := new(big.Rat).Sub(x, mean)
		total.Add(total, d.Mul(d, d))
	}
	return total
}

// decimal writes a number out, exactly where a decimal can, else rounded and marked.
func decimal(r *big.Rat) string {
	if digits, exact := r.FloatPrec(); exact && digits <= mostExact {
		return r.FloatString(digits)
	}
	return "≈ " + trimZeros(r.FloatString(decimals))
}

// root is the square root: exact where it is a fraction, else rounded and marked.
func root(r *big.Rat) string {
	num, den := new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom())
	exact := new(big.Rat).SetFrac(num, den)
	if new(big.Rat).Mul(exact, exact).Cmp(r) == 0 {
		return decimal(exact)
	}
	f := new(big.Float).SetPrec(precision(r)).SetRat(r)
	return "≈ " + trimZeros(f.Sqrt(f).Text('f', decimals))
}

// precision is enough bits for every digit before the point and the decimals after it.
func precision(r *big.Rat) uint {
	return uint(64 + max(0, r.Num().BitLen()-r.Denom().BitLen())/2 + 4*decimals)
}

func trimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
