package slacktext

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Masked stands for a secret. The brackets cannot come from a drawn value.
const Masked = "⟨masked⟩"

// Masker hides secrets in what is displayed: cards, threads, logs. What runs
// is never masked. Use NewMasker; the zero value masks nothing.
type Masker struct{ patterns []*regexp.Regexp }

// NewMasker returns a masker of the built-in patterns and extra, which are
// regular expressions in Go's syntax. If an expression has groups, only what
// the groups match is masked, else the whole match.
func NewMasker(extra []string) (*Masker, error) {
	m := &Masker{}
	for _, expr := range secretShapes {
		m.patterns = append(m.patterns, regexp.MustCompile(expr))
	}
	for i, expr := range extra {
		p, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %d: %w", i+1, err)
		}
		m.patterns = append(m.patterns, p)
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
	for _, p := range m.patterns {
		for _, match := range p.FindAllStringSubmatchIndex(s, -1) {
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

// secretShapes are the shapes of well-known credentials. They prefer to mask
// too much: people who may decide can still see the value on request.
var secretShapes = []string{
	`\bxox[a-z](?:\.xox[a-z])?-[\w.%-]{8,}`,   // Slack tokens
	`\bxapp-[\w-]{8,}`,                        // Slack app-level tokens
	`hooks\.slack\.com/(\S{10,})`,             // Slack webhooks and response urls
	`[?&]ticket=([^&\s"']{6,})`,               // tickets in connection urls
	`\bsk-[\w-]{16,}`,                         // model providers
	`\b[rs]k_(?:live|test)_\w{10,}`,           // payment providers
	`\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`, // AWS access keys
	`\bAIza[\w-]{35}`,                         // Google API keys
	`\bgh[oprsu]_\w{20,}`,                     // GitHub tokens
	`\bgithub_pat_\w{20,}`,                    // GitHub fine-grained tokens
	`\bglpat-[\w-]{16,}`,                      // GitLab tokens
	`(?i)\b(?:bearer|basic)\s+([\w.~+/-]{4,}\d[\w.~+/=-]*|[\w.~+/-]{0,3}\d[\w.~+/=-]{5,}|[\w.~+/-]{24,}=*)`, // credentials, not "basic information"
	`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?([^\s"',;]{8,})`,                                  // whole headers
	`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`,                                                                     // JSON web tokens
	`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`,                // PEM keys, whole or cut
	`\b[a-zA-Z][\w+.-]*://[^\s/:@?#]*:([^\s/@]+)@`,                                                          // passwords in urls
	`(?i)(?:\bpwd|\bpass|pass(?:word|wd|phrase)|secret|(?:api|access|private|secret)[_-]?key|(?:access|auth|refresh)[_-]?token)["']?\s*[:=]\s*["']?([^\s"'&,;}]{4,})`, // named secrets
	`(?i)\btoken["']?\s*[:=]\s*["']?([^\s"'&,;}]{12,})`, // tokens; short ones are counts
	`(?:密码|口令|密钥)\s*(?:[:：=]|是|为)\s*([^\s"'，。,;；]{4,})`, // the same in Chinese
}
