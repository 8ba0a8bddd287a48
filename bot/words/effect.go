package words

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// effect is a sentence by which a tool of ours says what it changed, with what to find
// its values by.
type effect struct {
	key    string
	like   *regexp.Regexp
	values []string
}

var value = regexp.MustCompile(`\\\{([a-z]+)\\\}`)

// effects reads the sentences of a language that tools write in. Those with fewer values
// come first: they are more exact.
func effects(says map[string]string) []effect {
	var out []effect
	for key, sentence := range says {
		if !strings.HasPrefix(key, "effect.") {
			continue
		}
		e := effect{key: key}
		quoted := regexp.QuoteMeta(sentence)
		for _, m := range value.FindAllStringSubmatch(quoted, -1) {
			e.values = append(e.values, m[1])
		}
		e.like = regexp.MustCompile(`(?s)^` + value.ReplaceAllString(quoted, "(.+?)") + `$`)
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b effect) int {
		return cmp.Or(cmp.Compare(len(a.values), len(b.values)), strings.Compare(a.key, b.key))
	})
	return out
}

// Effect says in this language what a tool says it changed. Our own tools say so in English
// sentences of the catalogue; what another one wrote stays as it is.
func (l Language) Effect(said string) string {
	for _, e := range l.effects {
		found := e.like.FindStringSubmatch(said)
		if found == nil {
			continue
		}
		var pairs []string
		for i, name := range e.values {
			pairs = append(pairs, name, found[i+1])
		}
		return l.Say(e.key, pairs...)
	}
	return said
}
