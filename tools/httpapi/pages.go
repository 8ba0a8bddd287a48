package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Pages declares that an answer may name the address of the next part of itself.
type Pages struct {
	Next  string // "link": the Link header with rel="next" (RFC 8288); else the member that holds the address, as a dotted path
	Limit int    // parts that are read at most, the first included
}

// maxPages bounds Limit: what needs more is a question for another tool.
const maxPages = 50

// nextInLink asks for the header.
const nextInLink = "link"

func (p *Pages) check(method string, effects bool) error {
	switch {
	case p == nil:
		return nil
	case method != http.MethodGet || effects:
		return errors.New("pages: only a GET that reads has pages")
	case p.Next == "" || p.Limit < 2 || p.Limit > maxPages:
		return fmt.Errorf("pages: needs next, and a limit from 2 to %d", maxPages)
	}
	return nil
}

// follow reads the further parts of an answer. What cannot be read ends the reading,
// and the note says so; the parts that were read stay.
func (t *tool) follow(ctx context.Context, f filled, first answer) (parts []answer, note string) {
	parts = []answer{first}
	seen, size := []string{f.url}, len(first.body)
	for at := f.url; ; {
		last := parts[len(parts)-1]
		next, err := t.next(at, last)
		switch {
		case err != nil:
			return parts, err.Error()
		case next == "":
			return parts, ""
		case len(parts) >= t.pages.Limit || size >= t.sender.maxBytes:
			return parts, "there is more, which was not read"
		case slices.Contains(seen, next):
			return parts, "the next part is one that was read already"
		}
		a, err := t.sender.send(ctx, filled{method: http.MethodGet, url: next}, t.headers)
		if err != nil || a.status < 200 || a.status > 299 || a.broken {
			return parts, fmt.Sprintf("part %d could not be read", len(parts)+1)
		}
		parts, seen, at, size = append(parts, a), append(seen, next), next, size+len(a.body)
	}
}

// next gives the address of the next part: "" when there is none. It must be of the
// declared origin, which alone may see the headers.
func (t *tool) next(at string, a answer) (string, error) {
	text := linked(a.headers)
	if t.pages.Next != nextInLink {
		text = ""
		if value, err := decode(a.body); err == nil {
			found, _ := lookup(value, t.pages.Next)
			text, _ = found.(string)
		}
	}
	if text == "" {
		return "", nil
	}
	base, err1 := url.Parse(at)
	ref, err2 := url.Parse(text)
	if errors.Join(err1, err2) != nil {
		return "", errors.New("the address of the next part cannot be read")
	}
	next := base.ResolveReference(ref)
	next.Fragment = ""
	if next.User != nil || next.Scheme+"://"+strings.ToLower(next.Host) != t.request.origin() {
		return "", errors.New("the next part is of another service, which is not asked")
	}
	return next.String(), nil
}

// linked gives the target of the Link header whose relation is next.
func linked(headers http.Header) string {
	for _, line := range headers.Values("Link") {
		for line != "" {
			_, rest, opened := strings.Cut(line, "<")
			target, rest, closed := strings.Cut(rest, ">")
			if !opened || !closed {
				break
			}
			params, after, _ := strings.Cut(rest, ",")
			if isNext(params) {
				return target
			}
			line = after
		}
	}
	return ""
}

func isNext(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") && slices.Contains(strings.Fields(strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))), "next") {
			return true
		}
	}
	return false
}

// joined is the text of all parts: one list where each is a list, else one after the other.
func (t *tool) joined(parts []answer, note string) string {
	if note != "" {
		note = "\n(" + note + ")"
	}
	var all []any
	for _, a := range parts {
		value, err := decode(a.body)
		list, is := value.([]any)
		if err != nil || !is || a.cut {
			return t.inTurn(parts) + note
		}
		all = append(all, list...)
	}
	return t.mask(pretty(all)) + note
}

func (t *tool) inTurn(parts []answer) string {
	var b strings.Builder
	for i, a := range parts {
		if len(parts) > 1 {
			fmt.Fprintf(&b, "part %d of %d\n", i+1, len(parts))
		}
		b.WriteString(t.text(a) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
