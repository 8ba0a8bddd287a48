package playbook

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// branch leads to a step when all it states holds; stating nothing always holds.
type branch struct {
	Saw   string `yaml:"saw"`   // an observation shows this sign (words.yaml)
	Says  string `yaml:"says"`  // an observation matches this regular expression
	Lacks string `yaml:"lacks"` // no value of this name was found
	When  string `yaml:"when"`  // "balance < limit": values or numbers, with < <= > >= = !=
	Go    string `yaml:"go"`    // the id of the step it leads to

	saw, says *regexp.Regexp
	left, op  string
	right     string
}

func (b *branch) check(ids map[string]bool, signs map[string]*regexp.Regexp) (err error) {
	if !ids[b.Go] {
		return fmt.Errorf("leads to %q, which is no step", b.Go)
	}
	if b.Saw != "" {
		if b.saw = signs[b.Saw]; b.saw == nil {
			return fmt.Errorf("unknown sign %q", b.Saw)
		}
	}
	if b.Says != "" {
		if b.says, err = regexp.Compile(b.Says); err != nil {
			return err
		}
	}
	if b.When != "" {
		f := strings.Fields(b.When)
		if len(f) != 3 || !strings.Contains(" < <= > >= = != ", " "+f[1]+" ") {
			return fmt.Errorf("cannot read the comparison %q", b.When)
		}
		b.left, b.op, b.right = f[0], f[1], f[2]
	}
	return nil
}

func (b *branch) holds(values map[string]string, seen []string) bool {
	if b.saw != nil && !slices.ContainsFunc(seen, b.saw.MatchString) {
		return false
	}
	if b.says != nil && !slices.ContainsFunc(seen, b.says.MatchString) {
		return false
	}
	if b.Lacks != "" && values[b.Lacks] != "" {
		return false
	}
	return b.op == "" || compare(operand(b.left, values), b.op, operand(b.right, values))
}

// operand is a value by its name, else the word itself.
func operand(word string, values map[string]string) string {
	if v, ok := values[word]; ok {
		return v
	}
	return word
}

// compare compares as numbers where both sides are, else as texts.
func compare(a, op, b string) bool {
	c := strings.Compare(a, b)
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if okX && okY {
		c = x.Cmp(y)
	} else if op != "=" && op != "!=" {
		return false // "less" has no meaning for words
	}
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "!=":
		return c != 0
	}
	return c == 0
}
