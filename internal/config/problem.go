package config

import (
	"fmt"
	"sort"
	"strings"
)

// Problem is one thing that is wrong, or worth a warning, and where.
type Problem struct {
	Source string // the file, or the environment variable
	Line   int    // counted from 1; 0: not in the file
	Column int    // counted from 1; 0: not in the file
	Key    string // the setting, like limits.max_steps or tools.http[2].url
	Text   string // one clear sentence without the key; holds no secrets
}

// String gives the place, the key and the sentence.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, " line %d, column %d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems is every problem found, in the order of the file. As an error it
// prints one line for each.
type Problems []Problem

// Error lists the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// asError is nil without problems, else the problems in the order of the file.
func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	ps.sort()
	return ps
}

func (ps Problems) sort() {
	sort.SliceStable(ps, func(i, j int) bool {
		if ps[i].Line != ps[j].Line {
			return ps[i].Line < ps[j].Line
		}
		return ps[i].Column < ps[j].Column
	})
}

// position is where a key's value stands.
type position struct{ line, column int }

// source remembers where each value came from: the file's name, the place of
// each key in it, the variables that won over the file, and the secrets' files.
type source struct {
	file        string
	at          map[string]position
	env         map[string]string // key ► environment variable
	secretFiles []string          // read for file:PATH
}

// problem places a sentence at a key. A key that is not in the file is placed at
// its nearest ancestor that is.
func (s source) problem(key, format string, args ...any) Problem {
	p := Problem{Source: s.file, Key: key, Text: fmt.Sprintf(format, args...)}
	if name, ok := s.env[key]; ok {
		p.Source = "environment variable " + name
		return p
	}
	for k := key; k != ""; k = parentKey(k) {
		if at, ok := s.at[k]; ok {
			p.Line, p.Column = at.line, at.column
			break
		}
	}
	return p
}

// parentKey cuts the last part off a key: a.b[2].c ► a.b[2] ► a.b ► a.
func parentKey(key string) string {
	i := strings.LastIndexAny(key, ".[")
	if i < 0 {
		return ""
	}
	return key[:i]
}
