package policy

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
)

// RuleError says what is wrong with one rule.
type RuleError struct {
	Key  string // where it stands: "rules[2].when"
	Text string // one sentence without a full stop
}

// RuleErrors are all that is wrong with rules.
type RuleErrors []RuleError

// Error lists them, one a line.
func (e RuleErrors) Error() string {
	lines := make([]string, len(e))
	for i, r := range e {
		lines[i] = r.Key + ": " + r.Text
	}
	return strings.Join(lines, "\n")
}

// sayIssues says in one line what CEL finds wrong, and at which character.
func sayIssues(issues *cel.Issues) error {
	said := make([]string, len(issues.Errors()))
	for i, e := range issues.Errors() {
		said[i] = fmt.Sprintf("%s (character %d of the condition)", e.Message, e.Location.Column()+1)
		if line := e.Location.Line(); line > 1 {
			said[i] = fmt.Sprintf("%s (line %d of the condition, character %d)", e.Message, line, e.Location.Column()+1)
		}
	}
	return errors.New(strings.Join(said, "; "))
}
