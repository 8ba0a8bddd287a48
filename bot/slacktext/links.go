package slacktext

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// maxURL is Slack's limit for the url of a link or button.
const maxURL = 3000

// clickable returns the address as it may be linked and shown: an absolute
// http, https or mailto URL, its host in ASCII, so that letters of another
// alphabet cannot imitate a known name. It reports false for everything else,
// which is then shown as plain text: other schemes, user names in front of the
// host, addresses with invisible characters.
func clickable(raw string) (string, bool) {
	if len(raw) > maxURL || Draw(raw) != raw || strings.ContainsAny(raw, " \n\\\"<>|") {
		return "", false
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "mailto":
		if !strings.Contains(u.Opaque, "@") || !isASCII(u.Opaque) {
			return "", false
		}
		return raw, true
	case "http", "https":
		return asciiHost(raw, u)
	}
	return "", false
}

// asciiHost spells an international host the way the network does.
func asciiHost(raw string, u *url.URL) (string, bool) {
	if u.User != nil || u.Hostname() == "" {
		return "", false
	}
	if isASCII(u.Host) {
		return raw, true
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		return "", false
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	u.Host = host
	return u.String(), true
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' || r < ' ' }) < 0
}

// findURL returns where the first web address of s begins and ends; at is -1
// if there is none. An address need not follow a space, which Chinese does not
// use, and ends at the first character that is not ASCII; punctuation at its
// end belongs to the sentence.
func findURL(s string) (at, end int) {
	for from := 0; ; {
		at = strings.Index(s[from:], "://")
		if at < 0 {
			return -1, -1
		}
		at += from
		from = at + len("://")
		start := schemeStart(s[:at])
		if start < 0 {
			continue
		}
		end = from + strings.IndexFunc(s[from:]+" ", endsURL)
		end = from + len(trimSentence(s[from:end]))
		if end > from {
			return start, end
		}
	}
}

// schemeStart returns where the scheme begins that before ends with, -1 if it
// is not one of the web's.
func schemeStart(before string) int {
	for _, scheme := range []string{"https", "http"} {
		if n := len(before) - len(scheme); n >= 0 && strings.EqualFold(before[n:], scheme) {
			return n
		}
	}
	return -1
}

func endsURL(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>\"\\^`{|}", r) }

// trimSentence cuts punctuation and unbalanced brackets off the end.
func trimSentence(s string) string {
	for s != "" {
		last := s[len(s)-1:]
		unbalanced := last == ")" && strings.Count(s, ")") > strings.Count(s, "(") ||
			last == "]" && strings.Count(s, "]") > strings.Count(s, "[")
		if !unbalanced && !strings.Contains(".,;:!?'*_~", last) {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}
