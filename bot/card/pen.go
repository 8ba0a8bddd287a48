package card

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"countersign/agent"
	"countersign/approvals/policy"
	"countersign/bot/slacktext"
	"countersign/bot/words"
	"countersign/tools"
)

// pen writes in one language.
type pen struct {
	r    *Renderer
	l    words.Language
	bare bool // secrets are shown: the reader may see them
}

func (r *Renderer) pen(lang string) pen { return pen{r: r, l: r.Words.In(lang)} }

func (p pen) say(key string, pairs ...string) string { return p.l.Say(key, pairs...) }

// userID is what Slack's ids of people look like.
var userID = regexp.MustCompile(`^[UW][A-Za-z0-9_]{0,30}$`)

// person mentions somebody from our rows, in mrkdwn.
func person(a policy.Actor) string {
	if userID.MatchString(a.User) {
		return "<@" + a.User + ">"
	}
	return code(a.User)
}

// code shows a short untrusted value in mrkdwn: within backticks nothing is
// interpreted, and it holds none itself.
func code(s string) string { return codeUpTo(s, 100) }

func codeUpTo(s string, limit int) string {
	s = strings.ReplaceAll(oneLine(slacktext.Draw(s)), "`", "'")
	return "`" + slacktext.TruncateEscaped(some(s), limit) + "`"
}

// oneLine joins lines and drops what is beyond any use in a line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// moment is an instant in each reader's own time zone, in mrkdwn.
func moment(t time.Time) string {
	if t.Unix() <= 0 {
		return "—" // not known
	}
	return fmt.Sprintf("<!date^%d^{date_short_pretty} {time}|%s>", t.Unix(), t.UTC().Format("2006-01-02 15:04 UTC"))
}

// took is how long something lasted.
func (p pen) took(d time.Duration) string {
	whole := d.Round(time.Second)
	switch {
	case d < 10*time.Second:
		return p.say("took.seconds", "n", strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64))
	case whole < time.Minute:
		return p.say("took.seconds", "n", strconv.Itoa(int(whole.Seconds())))
	case whole < time.Hour:
		return p.say("took.minutes", "m", strconv.Itoa(int(whole.Minutes())), "s", strconv.Itoa(int(whole.Seconds())%60))
	case whole < 48*time.Hour:
		return p.say("took.hours", "h", strconv.Itoa(int(whole.Hours())), "m", strconv.Itoa(int(whole.Minutes())%60))
	}
	return p.say("took.days", "d", strconv.Itoa(int(whole.Hours())/24), "h", strconv.Itoa(int(whole.Hours())%24))
}

// count says how many there are, in the right grammatical number: the key names
// two sentences, one and many.
func (p pen) count(key string, n int) string {
	form := ".many"
	if n == 1 {
		form = ".one"
	}
	return p.say(key+form, "n", grouped(n))
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (p pen) risk(r tools.Risk) string {
	switch r {
	case tools.Low:
		return p.say("risk.low")
	case tools.Medium:
		return p.say("risk.medium")
	}
	return p.say("risk.high")
}

// list joins pieces that are already fit for where they go.
func (p pen) list(pieces []string) string { return strings.Join(pieces, p.say("comma")) }

// roles names roles of the configuration, in mrkdwn.
func (p pen) roles(roles []string) string {
	shown := make([]string, len(roles))
	for i, r := range roles {
		shown[i] = code(r)
	}
	return strings.Join(shown, p.say("or"))
}

// draw shows an untrusted value to somebody who judges it, secrets masked unless
// the reader may see them, and says how many were.
func (p pen) draw(s string) (string, int) {
	if p.bare || p.r.Masker == nil {
		return edges(slacktext.Draw(s)), 0
	}
	drawn, masked := p.r.Masker.Draw(s)
	return edges(drawn), masked
}

// edges names newlines at the ends of a value, which Slack would not show.
func edges(drawn string) string {
	inner := strings.Trim(drawn, "\n")
	if inner == drawn {
		return drawn
	}
	if inner == "" {
		return strings.Repeat("⟨newline⟩", len(drawn))
	}
	head := len(drawn) - len(strings.TrimLeft(drawn, "\n"))
	tail := len(drawn) - len(inner) - head
	return strings.Repeat("⟨newline⟩", head) + inner + strings.Repeat("⟨newline⟩", tail)
}

// mask hides secrets in prose.
func (p pen) mask(s string) string {
	if p.bare || p.r.Masker == nil {
		return s
	}
	masked, _ := p.r.Masker.Mask(s)
	return masked
}

// prose is somebody's words as they are read, cut to a limit: nothing in them
// acts unseen, and they cannot push anything out of sight.
func (p pen) prose(s string, limit int) string {
	return slacktext.Truncate(calm(p.mask(s)), limit)
}

// sentence is prose in one line.
func (p pen) sentence(s string, limit int) string {
	return slacktext.Truncate(oneLine(calm(p.mask(s))), limit)
}

// calm names invisible and bidirectional controls, and joins empty lines.
func calm(s string) string {
	var out strings.Builder
	newlines := 0
	for _, r := range strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")) {
		if r == '\r' {
			continue
		}
		if r == '\n' {
			newlines++
		} else {
			newlines = 0
		}
		switch {
		case newlines > 2:
		case r == '\n', r == '\t', unicode.IsPrint(r), unicode.Is(unicode.Zs, r), r == '\u200d', r == '\u200c':
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "⟨U+%04X⟩", r)
		}
	}
	return out.String()
}

// private says that the channel may not see what the step was called with.
func (r *Renderer) private(tool string, s *agent.Step) bool {
	return s != nil && s.Private || r.Private != nil && r.Private(tool)
}
