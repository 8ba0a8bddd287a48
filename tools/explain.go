package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
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

// problem is one thing that is wrong, and where.
type problem struct{ pointer, text string }

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
	found = slices.Compact(found)
	var b strings.Builder
	fmt.Fprintf(&b, "The arguments of %s do not fit, and nothing was run:", s.tool)
	for _, p := range found[:min(len(found), maxProblems)] {
		fmt.Fprintf(&b, "\n- %s: %s", place(p.pointer), shorten(p.text, maxProblem))
	}
	if more := len(found) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return &Failure{Code: InvalidArguments, Pointer: found[0].pointer, Message: b.String()}
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
			list = append(list, problem{shorten(at, maxPointer), unknownProperty(name, known)})
		}
		return list
	}
	return append(list, problem{shorten(pointer(e.InstanceLocation), maxPointer), describe(e.ErrorKind)})
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

// describe says what is wrong and what is allowed.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "missing: " + strings.Join(k.Missing, ", ")
	case *kind.Type:
		return fmt.Sprintf("it is %s, it must be %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return fmt.Sprintf("it is %s, allowed are %s", shorten(quote(k.Got), maxValue), quoteAll(k.Want))
	case *kind.Minimum:
		return "it must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "it must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "it must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "it must be less than " + decimal(k.Want)
	case *kind.Pattern:
		return "it must match the pattern " + k.Want
	case *kind.Const:
		return "it must be " + quote(k.Want)
	default:
		return describeSize(k)
	}
}

// describeSize says what is too long or too short.
func describeSize(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("it has %d characters, it must have at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("it has %d characters, it must have at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("it has %d items, it must have at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("it has %d items, it must have at most %d", k.Got, k.Want)
	default:
		return k.LocalizedString(message.NewPrinter(language.English))
	}
}

// decimal writes a bound as a schema would.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		return r.RatString()
	}
	return r.FloatString(digits)
}

func quoteAll(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = quote(v)
	}
	return strings.Join(texts, ", ")
}

func quote(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	return string(encode(v))
}
