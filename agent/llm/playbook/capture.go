package playbook

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// capture takes a value out of observations. Exactly one way is stated.
type capture struct {
	Name  string   `yaml:"name"`
	Field string   `yaml:"field"` // a JSON field, a table's column (first row) or a "field: value" line
	Match []string `yaml:"match"` // regular expressions with one group; the first that matches
	Every []string `yaml:"every"` // the same, but all matches of the first that has any, joined by spaces
	Lines int      `yaml:"lines"` // the first lines of the observation
	Of    int      `yaml:"of"`    // only what this call of the step gave, from 1; 0: any
}

// take finds the value in the observations; empty when there is none.
func (c capture) take(values map[string]string, seen []string) (string, error) {
	if c.Of > 0 {
		seen = seen[min(c.Of-1, len(seen)):min(c.Of, len(seen))]
	}
	switch {
	case c.Field != "":
		return first(seen, func(s string) string { return fieldOf(s, c.Field) }), nil
	case c.Lines > 0:
		return first(seen, func(s string) string { return head(s, c.Lines) }), nil
	}
	for _, m := range c.Every {
		if got, err := takeEvery(m, values, seen); got != "" || err != nil {
			return got, err
		}
	}
	for _, m := range c.Match {
		expr, err := expression(m, values)
		if err != nil {
			return "", err
		}
		if got := first(seen, func(s string) string { return group(expr, s) }); got != "" {
			return got, nil
		}
	}
	return "", nil
}

func takeEvery(m string, values map[string]string, seen []string) (string, error) {
	expr, err := expression(m, values)
	if err != nil {
		return "", err
	}
	var all []string
	for _, s := range seen {
		for _, hit := range expr.FindAllStringSubmatch(s, -1) {
			all = append(all, hit[1])
		}
	}
	return strings.Join(all, " "), nil
}

// expression reads a regular expression in which {{.name}} stands for a value.
func expression(m string, values map[string]string) (*regexp.Regexp, error) {
	quoted := make(map[string]string, len(values))
	for k, v := range values {
		quoted[k] = regexp.QuoteMeta(v)
	}
	s, err := render(m, quoted)
	if err != nil {
		return nil, err
	}
	expr, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	if expr.NumSubexp() != 1 {
		return nil, fmt.Errorf("%q needs exactly one group", m)
	}
	return expr, nil
}

func group(expr *regexp.Regexp, s string) string {
	if hit := expr.FindStringSubmatch(s); hit != nil {
		return strings.TrimSpace(hit[1])
	}
	return ""
}

func first(seen []string, take func(string) string) string {
	for _, s := range seen {
		if got := take(s); got != "" {
			return got
		}
	}
	return ""
}

func head(s string, lines int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[:min(lines, len(all))], "\n")
}

// fieldOf finds a named value in JSON, in a table with a heading, or in lines.
func fieldOf(s, name string) string {
	if got := jsonField(s, name); got != "" {
		return got
	}
	if got := column(s, name); got != "" {
		return got
	}
	line := regexp.MustCompile(`(?mi)^[\s*-]*` + regexp.QuoteMeta(name) + `\s*[:=]\s*(.+?)\s*$`)
	return group(line, s)
}

// jsonField reads the field wherever it stands in the text, so that a status
// line before the JSON does not hide it.
func jsonField(s, name string) string {
	expr := regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false)`)
	raw := group(expr, s)
	var str string
	if json.Unmarshal([]byte(raw), &str) == nil && str != "" {
		return str
	}
	return strings.Trim(raw, `"`)
}

// rowCount is the line under a table that counts its rows.
var rowCount = regexp.MustCompile(`^\s*\(.*rows?\b.*\)\s*$`)

// column reads the first row's cell under a heading of the name, in a table
// whose cells are parted by bars, tabs, commas or runs of spaces.
func column(s, name string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		at := indexFold(cells(l), name)
		if at < 0 {
			continue
		}
		for _, row := range lines[i+1:] {
			if strings.Trim(row, " |+-=:\t\r") == "" {
				continue // the rule under the heading
			}
			if got := cells(row); at < len(got) && !rowCount.MatchString(row) {
				return got[at]
			}
			break
		}
	}
	return ""
}

func indexFold(all []string, name string) int {
	for i, s := range all {
		if strings.EqualFold(s, name) {
			return i
		}
	}
	return -1
}

func cells(l string) []string {
	l = strings.Trim(strings.TrimSpace(l), "|│")
	split := strings.Fields(l)
	for _, sep := range []string{"|", "│", "\t", ","} {
		if strings.Contains(l, sep) {
			split = strings.Split(l, sep)
			break
		}
	}
	for i := range split {
		split[i] = strings.TrimSpace(split[i])
	}
	return split
}
