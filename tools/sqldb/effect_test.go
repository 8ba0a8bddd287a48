package sqldb

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"countersign/tools"
)

func cellGen() *rapid.Generator[cell] {
	return rapid.Custom(func(t *rapid.T) cell {
		return cell{text: rapid.SampledFrom([]string{"", "a", "b", "ab", "NULL", "1"}).Draw(t, "text"), null: rapid.Bool().Draw(t, "null")}
	})
}

func effectGen() *rapid.Generator[effect] {
	return rapid.Custom(func(t *rapid.T) effect {
		e := effect{verb: "update", table: "t", columns: []string{"id", "a"}, keys: []int{0}}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			row := func() []cell { return []cell{cellGen().Draw(t, "cell"), cellGen().Draw(t, "cell")} }
			e.rows = append(e.rows, rowChange{before: row(), after: row()})
		}
		e.count = len(e.rows)
		return e
	})
}

// TestAgreementProperties: the order of rows does not matter, any other difference does.
func TestAgreementProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := effectGen().Draw(t, "effect")
		agrees := agreement("s", tools.Preview{Material: e.material("s")})
		same := e
		same.rows = slices.Clone(e.rows)
		rand.Shuffle(len(same.rows), func(i, j int) { same.rows[i], same.rows[j] = same.rows[j], same.rows[i] })
		if err := agrees(same); err != nil {
			t.Fatalf("shuffled: %v", err)
		}
		if len(e.rows) == 0 {
			return
		}
		other := e
		other.rows = slices.Clone(e.rows)
		changed := slices.Clone(e.rows[0].after)
		i := rapid.IntRange(0, 1).Draw(t, "column")
		if changed[i] = cellGen().Draw(t, "changed"); changed[i] == e.rows[0].after[i] {
			return
		}
		other.rows[0].after = changed
		if agrees(other) == nil {
			t.Fatalf("%v passes for %v", other.rows, e.rows)
		}
	})
}

func TestDrawTellsValuesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]cell{}
	for _, c := range []cell{
		{null: true}, {text: "NULL"}, {text: ""}, {text: " "}, {text: `""`}, {text: "a\nb"}, {text: `a\nb`}, {text: "a\u202eb"}, {text: "a b"},
		{text: "a\u00a0b"}, {text: `"NULL"`}, {text: "a  b=c"}, {text: "x | y"},
	} {
		text := shown(c, 100)
		if before, ok := seen[text]; ok {
			t.Errorf("%+v and %+v are both drawn as %s", before, c, text)
		}
		seen[text] = c
	}
	if got := shown(cell{text: strings.Repeat("张", 12)}, 10); got != strings.Repeat("张", 10)+"…(+2 characters)" {
		t.Error(got)
	}
}

func TestDrawIsBounded(t *testing.T) {
	t.Parallel()
	e := effect{verb: "delete", table: "t", columns: []string{"id"}, keys: []int{0}, count: 2000}
	for range 1000 {
		e.rows = append(e.rows, rowChange{before: []cell{{text: "1"}}})
	}
	if got := e.draw(); !strings.HasSuffix(got, "\n\nand 1,990 more") || strings.Count(got, "\n- ") != shownRows {
		t.Error(got)
	}
}

// TestLimitsUnlessSaid: what bounds a call when nothing is configured.
func TestLimitsUnlessSaid(t *testing.T) {
	t.Parallel()
	want := Limits{Rows: 200, Bytes: 256 << 10, Timeout: 10 * time.Second, LockTimeout: 500 * time.Millisecond, Changes: 1000}
	if got := (Limits{}).withDefaults(); got != want {
		t.Errorf("%+v", got)
	}
}
