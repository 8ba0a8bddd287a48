package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"countersign/tools"
)

// Rule changes what one kind of call needs. Zero fields keep what they are.
type Rule struct {
	Name         string // where it stands: "rules[2]"
	Tool         string // empty: every tool
	When         string // CEL; empty: always
	Risk         tools.Risk
	Approvers    []string
	Quorum       int
	TTL          time.Duration
	SelfApproval *bool
	StepUp       string
	Confirm      *bool
	Batch        bool
	Deny         string
	AtMost       *AtMost
}

// AtMost bounds how often, and for how much together, a rule may lower a risk. It
// is counted in the database.
type AtMost struct {
	Count  int
	Sum    string // an argument: "args.amount"; empty: only calls are counted
	Limit  float64
	Per    string // asker, channel or all
	Within time.Duration
}

// Rules are compiled rules in order.
type Rules struct {
	list []compiled
	env  *cel.Env
}

type compiled struct {
	Rule
	when  cel.Program
	sum   cel.Program
	reads reading // what both read of the arguments
}

// costLimit bounds the work of one condition, in CEL's own units.
const costLimit = 100_000

// NewRules compiles rules. The error is a RuleErrors when conditions are wrong.
func NewRules(rules []Rule) (*Rules, error) {
	env, err := cel.NewEnv(
		cel.Variable("tool", cel.StringType), cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("user", cel.StringType), cel.Variable("roles", cel.ListType(cel.StringType)),
		cel.Variable("channel", cel.StringType), cel.Variable("risk", cel.StringType),
		cel.Variable("run", cel.MapType(cel.StringType, cel.ListType(cel.StringType))),
	)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	out := &Rules{env: env}
	var wrong RuleErrors
	for _, r := range rules {
		c := compiled{Rule: r}
		if r.When != "" {
			if c.when, err = out.compile(r.When, cel.BoolType, &c.reads); err != nil {
				wrong = append(wrong, RuleError{r.Name + ".when", err.Error()})
			}
		}
		if r.AtMost != nil && r.AtMost.Sum != "" {
			if c.sum, err = out.compile(r.AtMost.Sum, nil, &c.reads); err != nil {
				wrong = append(wrong, RuleError{r.Name + ".at_most.sum", err.Error()})
			}
		}
		out.list = append(out.list, c)
	}
	if wrong != nil {
		return nil, wrong
	}
	return out, nil
}

func (r *Rules) compile(text string, want *cel.Type, reads *reading) (cel.Program, error) {
	ast, issues := r.env.Compile(text)
	if issues.Err() != nil {
		return nil, sayIssues(issues)
	}
	if want != nil && !ast.OutputType().IsExactType(want) && !ast.OutputType().IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it gives a %s, not a %s", ast.OutputType(), want)
	}
	reads.add(ast)
	return r.env.Program(ast, cel.CostLimit(costLimit), cel.EvalOptions(cel.OptOptimize))
}

// facts are what a condition sees.
func (q *Question) facts() (map[string]any, error) {
	args, err := numbers(q.Args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return map[string]any{
		"tool": q.Spec.Name, "args": args, "user": q.Asker.User, "roles": orEmpty(q.Asker.Roles), "channel": q.Channel,
		"risk": string(q.Spec.Risk), "run": map[string][]string{"read": orEmpty(q.Read)},
	}, nil
}

// numbers reads the arguments with integers as integers, so that large ids are
// compared exactly.
func numbers(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, err
	}
	for k, v := range args {
		n, err := number(v)
		if err != nil {
			return nil, err
		}
		args[k] = n
	}
	return args, nil
}

func number(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			n, err := number(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	case map[string]any:
		for k := range v {
			n, err := number(v[k])
			if err != nil {
				return nil, err
			}
			v[k] = n
		}
	}
	return v, nil
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// verdict of one rule on one call.
type verdict int

const (
	no verdict = iota
	yes
	broken // it cannot be evaluated: never "no match"
)

func (c *compiled) matches(q *Question, facts map[string]any) (verdict, error) {
	if c.Tool != "" && c.Tool != q.Spec.Name {
		return no, nil
	}
	if c.when == nil {
		return yes, nil
	}
	v, _, err := c.when.Eval(facts)
	if err != nil {
		return broken, err
	}
	b, ok := v.Value().(bool)
	switch {
	case !ok:
		return broken, fmt.Errorf("it gives %s, not true or false", typeName(v))
	case b:
		return yes, nil
	}
	return no, nil
}

func typeName(v ref.Val) string {
	if t, ok := v.Type().(*types.Type); ok {
		return t.TypeName()
	}
	return reflect.TypeOf(v).String()
}

// apply lays the rule over what a call needs so far.
func (c *compiled) apply(needs Requirement) Requirement {
	if c.Approvers != nil {
		needs.Approvers = slices.Clone(c.Approvers)
		needs.Escalate = nil // who named its approvers meant them
	}
	if c.Quorum > 0 {
		needs.Quorum = c.Quorum
	}
	if c.TTL > 0 {
		needs.TTL = c.TTL
	}
	if c.SelfApproval != nil {
		needs.SelfApproval = *c.SelfApproval
	}
	if c.StepUp != "" && c.StepUp != "none" {
		needs.StepUp = c.StepUp
	}
	if c.Confirm != nil {
		needs.Confirm = *c.Confirm
	}
	needs.Batch = c.Batch
	needs.Rule = c.Name
	return needs
}

// Budget is a lowered risk that has to be paid from a count in the database.
type Budget struct {
	Key    string // of the rule and of whose calls are counted together
	Count  int    // the most calls; 0: any number
	Amount float64
	Limit  float64 // the most of the sum; 0: any
	Within time.Duration
}

func (c *compiled) budget(q *Question, facts map[string]any) (*Budget, error) {
	if c.AtMost == nil {
		return nil, nil
	}
	// The key names the rule by what it says, so that moving it in the file forgives nothing.
	b := &Budget{Key: c.Tool + "/" + tools.Digest("budget", c.Tool, c.When, c.AtMost.Sum, string(c.Risk))[:16], Count: c.AtMost.Count, Limit: c.AtMost.Limit, Within: c.AtMost.Within}
	switch c.AtMost.Per {
	case "channel":
		b.Key += "/channel/" + q.Channel
	case "all":
		b.Key += "/all"
	default:
		b.Key += "/asker/" + q.Asker.Team + "/" + q.Asker.User
	}
	if c.sum == nil {
		return b, nil
	}
	v, _, err := c.sum.Eval(facts)
	if err != nil {
		return nil, err
	}
	switch n := v.Value().(type) {
	case float64:
		b.Amount = n
	case int64:
		b.Amount = float64(n)
	default:
		return nil, fmt.Errorf("%s is not a number", c.AtMost.Sum)
	}
	if b.Amount < 0 {
		return nil, fmt.Errorf("%s is negative", c.AtMost.Sum)
	}
	return b, nil
}
