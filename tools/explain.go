package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// How much is told to the model about arguments that do not fit.
const (
	maxProblems = 8   // problems listed; the rest is counted
	maxProblem  = 240 // characters of one problem
	maxPointer  = 60  // characters of a place, which may hold the model's own words
	maxValue    = 40  // characters of a wrong value
)

// Breach is the rule of a schema that a value breaks, for whoever says it in other words.
type Breach struct {
	Rule string   // the schema's keyword: "type", "maximum" …; "unknown": there is no such argument; "other"
	Got  string   // what was given, where that says something
	Want []string // what is allowed
}

// problem is one thing that is wrong, and where.
type problem struct {
	pointer, text string
	breach        Breach
}

// explain turns the errors of the validator into one Failure that a model can
// act on.
func (s *Schema) explain(err error) *Failure {
	invalid := (*jsonschema.ValidationError)(nil)
	if !errors.As(err, &invalid) {
		return &Failure{Code: InvalidArguments, Message: shorten(err.Error(), maxEcho)}
	}
	found := s.problems(invalid, nil)
	slices.SortStableFunc(found, func(a, b problem) int {
		return strings.Compare(a.pointer+"\x00"+a.text, b.pointer+"\x00"+b.text)
	})
	found = slices.CompactFunc(found, func(a, b problem) bool { return a.pointer == b.pointer && a.text == b.text })
	var b strings.Builder
	fmt.Fprintf(&b, "The arguments of %s do not fit, and nothing was run:", s.tool)
	for _, p := range found[:min(len(found), maxProblems)] {
		fmt.Fprintf(&b, "\n- %s: %s", place(p.pointer), shorten(p.text, maxProblem))
	}
	if more := len(found) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return &Failure{Code: InvalidArguments, Pointer: found[0].pointer, Message: b.String(), Breach: found[0].breach}
}

func place(pointer string) string {
	if pointer == "" {
		return "arguments"
	}
	return pointer
}

// problems collects the leaves of the validator's tree: what is really wrong,
// without the levels that only say "something below is wrong".
func (s *Schema) problems(e *jsonschema.ValidationError, list []problem) []problem {
	for _, cause := range e.Causes {
		list = s.problems(cause, list)
	}
	if len(e.Causes) > 0 {
		return list
	}
	if unknown, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		known := slices.Sorted(maps.Keys(s.at(e.InstanceLocation)))
		for _, name := range unknown.Properties {
			at := pointer(append(slices.Clone(e.InstanceLocation), name))
			list = append(list, problem{shorten(at, maxPointer), unknownProperty(name, known), Breach{Rule: "unknown", Want: known}})
		}
		return list
	}
	broken := breach(e.ErrorKind)
	return append(list, problem{shorten(pointer(e.InstanceLocation), maxPointer), broken.describe(), broken})
}

// at finds the properties that are declared where a value stands, as far as
// they can be found without trying branches.
func (s *Schema) at(path []string) map[string]*jsonschema.Schema {
	at := s.root
	for _, name := range path {
		next := propertySchema(at, name)
		if next == nil {
			next = itemSchema(at, 0)
		}
		for next != nil && next.Ref != nil && next.Properties == nil {
			next = next.Ref
		}
		if next == nil {
			return nil
		}
		at = next
	}
	return at.Properties
}

func unknownProperty(name string, known []string) string {
	text := "there is no property of this name" + DidYouMean(Near(name, known))
	if len(known) > 0 {
		text += " Allowed: " + strings.Join(known, ", ")
	}
	return text
}

// breach names the broken rule.
func breach(k jsonschema.ErrorKind) Breach {
	switch k := k.(type) {
	case *kind.Required:
		return Breach{Rule: "required", Want: k.Missing}
	case *kind.Type:
		return Breach{Rule: "type", Got: k.Got, Want: k.Want}
	case *kind.Enum:
		return Breach{Rule: "enum", Got: shorten(quote(k.Got), maxValue), Want: quoteAll(k.Want)}
	case *kind.Minimum:
		return Breach{Rule: "minimum", Want: []string{decimal(k.Want)}}
	case *kind.Maximum:
		return Breach{Rule: "maximum", Want: []string{decimal(k.Want)}}
	case *kind.ExclusiveMinimum:
		return Breach{Rule: "exclusiveMinimum", Want: []string{decimal(k.Want)}}
	case *kind.ExclusiveMaximum:
		return Breach{Rule: "exclusiveMaximum", Want: []string{decimal(k.Want)}}
	case *kind.MultipleOf:
		return Breach{Rule: "multipleOf", Want: []string{decimal(k.Want)}}
	case *kind.Pattern:
		return Breach{Rule: "pattern", Want: []string{k.Want}}
	case *kind.Format:
		return Breach{Rule: "format", Want: []string{k.Want}}
	case *kind.Const:
		return Breach{Rule: "const", Want: []string{quote(k.Want)}}
	default:
		return breachOfSize(k)
	}
}

// breachOfSize names what is too long or too short.
func breachOfSize(k jsonschema.ErrorKind) Breach {
	size := func(rule string, got, want int) Breach {
		return Breach{Rule: rule, Got: strconv.Itoa(got), Want: []string{strconv.Itoa(want)}}
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return size("minLength", k.Got, k.Want)
	case *kind.MaxLength:
		return size("maxLength", k.Got, k.Want)
	case *kind.MinItems:
		return size("minItems", k.Got, k.Want)
	case *kind.MaxItems:
		return size("maxItems", k.Got, k.Want)
	case *kind.UniqueItems:
		return Breach{Rule: "uniqueItems"}
	default:
		return Breach{Rule: "other", Want: []string{k.LocalizedString(message.NewPrinter(language.English))}}
	}
}

// describe says to the model what is wrong and what is allowed.
func (b Breach) describe() string {
	want := strings.Join(b.Want, ", ")
	switch b.Rule {
	case "required":
		return "missing: " + want
	case "type":
		return fmt.Sprintf("it is %s, it must be %s", b.Got, strings.Join(b.Want, " or "))
	case "enum":
		return fmt.Sprintf("it is %s, allowed are %s", b.Got, want)
	case "minLength", "minItems":
		return fmt.Sprintf("it has %s %s, it must have at least %s", b.Got, sized(b.Rule), want)
	case "maxLength", "maxItems":
		return fmt.Sprintf("it has %s %s, it must have at most %s", b.Got, sized(b.Rule), want)
	case "uniqueItems":
		return "no item may stand in it twice"
	case "other":
		return want
	}
	return "it must " + map[string]string{
		"minimum": "be at least ", "maximum": "be at most ", "exclusiveMinimum": "be more than ", "exclusiveMaximum": "be less than ",
		"multipleOf": "be a multiple of ", "pattern": "match the pattern ", "format": "be a valid ", "const": "be ",
	}[b.Rule] + want
}

func sized(rule string) string {
	if strings.HasSuffix(rule, "Items") {
		return "items"
	}
	return "characters"
}

// decimal writes a bound as a schema would.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		return r.RatString()
	}
	return r.FloatString(digits)
}

func quoteAll(values []any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = quote(v)
	}
	return texts
}

func quote(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	return string(encode(v))
}
