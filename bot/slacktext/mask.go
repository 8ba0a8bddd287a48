package slacktext

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Masked stands for a secret. The brackets cannot come from a drawn value.
const Masked = "⟨masked⟩"

// Masker hides secrets in what is displayed: cards, threads, logs. What runs
// is never masked. Use NewMasker; the zero value masks nothing.
type Masker struct{ shapes []shape }

// shape is a form of secrets. A text with none of its marks, in any case, holds none
// of it: that is known in a fraction of the time that the expression takes. No marks:
// the expression is always asked.
type shape struct {
	marks []string
	expr  *regexp.Regexp
}

// in says whether the text may hold the shape; folded is the text without case.
func (s *shape) in(folded string) bool {
	return len(s.marks) == 0 || slices.ContainsFunc(s.marks, func(m string) bool { return strings.Contains(folded, m) })
}

// fold takes the case away as the expressions' (?i) does: the long s and the sign of
// Kelvin are letters too.
func fold(s string) string {
	return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, s)
}

// NewMasker returns a masker of the built-in patterns and extra, which are
// regular expressions in Go's syntax. If an expression has groups, only what
// the groups match is masked, else the whole match.
func NewMasker(extra []string) (*Masker, error) {
	m := &Masker{}
	for _, s := range secretShapes {
		m.shapes = append(m.shapes, shape{strings.Fields(s.marks), regexp.MustCompile(s.expr)})
	}
	for i, expr := range extra {
		p, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %d: %w", i+1, err)
		}
		m.shapes = append(m.shapes, shape{expr: p})
	}
	return m, nil
}

// Mask replaces every secret of s by Masked and counts them. For values that a
// person judges use Draw, where Masked cannot be imitated.
func (m *Masker) Mask(s string) (string, int) {
	return m.replace(s, func(open string, _, _ bool) string { return open })
}

// Draw draws s like the function Draw, with Masked for every secret, and
// counts the secrets.
func (m *Masker) Draw(s string) (string, int) { return m.replace(s, drawPiece) }

// replace shows what is between the secrets; show also gets whether a piece
// reaches the beginning and the end of s.
func (m *Masker) replace(s string, show func(piece string, first, last bool) string) (string, int) {
	var out strings.Builder
	spans, end := m.spans(s), 0
	for _, span := range spans {
		out.WriteString(show(s[end:span[0]], end == 0, false))
		out.WriteString(Masked)
		end = span[1]
	}
	out.WriteString(show(s[end:], end == 0, true))
	return out.String(), len(spans)
}

// spans returns where the secrets of s are, in order, overlaps merged.
func (m *Masker) spans(s string) [][2]int {
	var found [][2]int
	folded := fold(s)
	for _, shape := range m.shapes {
		if !shape.in(folded) {
			continue
		}
		for _, match := range shape.expr.FindAllStringSubmatchIndex(s, -1) {
			found = append(found, matched(match)...)
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var merged [][2]int
	for _, span := range found {
		if last := len(merged) - 1; last >= 0 && span[0] <= merged[last][1] {
			merged[last][1] = max(merged[last][1], span[1])
			continue
		}
		merged = append(merged, span)
	}
	return merged
}

// matched returns the groups of a match, or the whole match if no group took
// part. Empty ones are dropped.
func matched(match []int) [][2]int {
	var spans [][2]int
	for i := 2; i+1 < len(match); i += 2 {
		if match[i] >= 0 && match[i] < match[i+1] {
			spans = append(spans, [2]int{match[i], match[i+1]})
		}
	}
	if spans == nil && match[0] < match[1] {
		spans = append(spans, [2]int{match[0], match[1]})
	}
	return spans
}

// Pieces of expressions: what stands between a name and its value, and the value. Within
// quotation marks a value ends with them, else with the next space. Text that is quoted
// within another text has backslashes before its quotation marks.
const (
	is    = `\\*["']?\s*[:=：＝]\s*`
	given = `(?:"((?:[^"\\\n]|\\.){4,})|'((?:[^'\\\n]|\\.){4,})|\\+["']([^"'\\\n]{4,})|([^\s"'&,;}]{3,}[^\s"'&,;}\\]))`
)

// secretShapes are the shapes of well-known credentials. They prefer to mask
// too much: people who may decide can still see the value on request. The marks are in small letters.
var secretShapes = []struct{ marks, expr string }{
	{"xox", `\bxox[a-z](?:\.xox[a-z])?-[\w.%-]{8,}`},                   // Slack tokens
	{"xapp-", `\bxapp-[\w-]{8,}`},                                      // Slack app-level tokens
	{"hooks.slack.com/", `hooks\.slack\.com/(\S{10,})`},                // Slack webhooks and response urls
	{"ticket=", `[?&]ticket=([^&\s"']{6,})`},                           // tickets in connection urls
	{"sk-", `\bsk-[\w-]{16,}`},                                         // model providers
	{"k_live_ k_test_", `\b[rs]k_(?:live|test)_\w{10,}`},               // payment providers
	{"akia asia abia acca", `\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`}, // AWS access keys
	{"aiza", `\bAIza[\w-]{35}`},                                        // Google API keys
	{"gho_ ghp_ ghr_ ghs_ ghu_", `\bgh[oprsu]_\w{20,}`},                // GitHub tokens
	{"github_pat_", `\bgithub_pat_\w{20,}`},                            // GitHub fine-grained tokens
	{"glpat-", `\bglpat-[\w-]{16,}`},                                   // GitLab tokens
	// credentials, not "basic information":
	{"bearer basic", `(?i)\b(?:bearer|basic)\s+([\w.~+/-]{4,}\d[\w.~+/=-]*|[\w.~+/-]{0,3}\d[\w.~+/=-]{5,}|[\w.~+/-]{24,}=*)`},
	// whole headers:
	{"authorization", `(?i)\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:[a-z]+\s+)?([^\s"',;]{7,}[^\s"',;\\])`},
	// JSON web tokens:
	{"eyj", `\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`},
	// PEM keys, whole or cut:
	{"-----begin", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`},
	// passwords in urls:
	{"://", `\b[a-zA-Z][\w+.-]*://[^\s/:@?#]*:([^\s/@]+)@`},
	// named secrets:
	{"pwd pass secret key token", `(?i)(?:\bpwd|\bpass|pass(?:word|wd|phrase)|secret|(?:api|access|private|secret)[_-]?key|(?:access|auth|refresh)[_-]?token)` + is + given},
	// tokens; short ones are counts:
	{"token", `(?i)\btoken` + is + `\\*["']?([^\s"'&,;}]{11,}[^\s"'&,;}\\])`},
	// options of commands:
	{"pass secret key token", `(?i)--[\w-]*(?:pass(?:word|wd|phrase)?|secret|api-?key|access-?key|token)(?:\s+|=)` + given},
	// passwords in SQL, which has no sign between the name and the value:
	{"password", `(?i)\bpassword\s+'((?:[^'\n]|''){4,})`},
	{"identified", `(?i)\bidentified\s+(?:with\s+\S+\s+)?by\s+'((?:[^'\n]|''){4,})`},
	// the same in Chinese:
	{"密码 口令 密钥", `(?:密码|口令|密钥)\\*["'”」]?\s*(?:[:：=＝]|是|为)\s*\\*["'“「]?([^\s"'”」，。,;；]{4,})`},
}
