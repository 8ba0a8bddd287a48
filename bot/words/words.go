// Package words holds every sentence that people see, in each language one
// file. Adding a language is adding a file.
package words

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed *.yaml
var files embed.FS

// Fallback is the language of whoever speaks none of ours.
const Fallback = "en"

// Catalogue is every sentence in every language.
type Catalogue struct{ languages map[string]Language }

// Language is every sentence in one language.
type Language struct {
	code    string
	says    map[string]string
	effects []effect
}

// Load reads the built-in languages.
func Load() (*Catalogue, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list languages: %w", err)
	}
	c := &Catalogue{languages: map[string]Language{}}
	for _, e := range entries {
		source, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		says := map[string]string{}
		if err := yaml.Unmarshal(source, &says); err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		code := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		c.languages[code] = Language{code: code, says: says}
	}
	if len(c.languages[Fallback].says) == 0 {
		return nil, fmt.Errorf("the language %s is missing", Fallback)
	}
	written := effects(c.languages[Fallback].says)
	for code, l := range c.languages {
		l.effects = written
		c.languages[code] = l
	}
	return c, nil
}

// In gives a language by its code or a locale such as zh-CN; English where
// there is no such language.
func (c *Catalogue) In(lang string) Language {
	short, _, _ := strings.Cut(strings.ToLower(lang), "-")
	short, _, _ = strings.Cut(short, "_")
	if l, ok := c.languages[short]; ok {
		return l
	}
	return c.languages[Fallback]
}

// Code is the language's code: en, zh.
func (l Language) Code() string { return l.code }

// Has says whether the language has a sentence for the key.
func (l Language) Has(key string) bool { _, ok := l.says[key]; return ok }

// Say gives a sentence, with the placeholders filled from pairs of name and
// value. Values are put in as they are: the caller escapes what is not ours. A
// key that does not exist is said as itself, so that nothing is ever silent.
func (l Language) Say(key string, pairs ...string) string {
	sentence, ok := l.says[key]
	if !ok {
		return key
	}
	old := make([]string, 0, len(pairs))
	for i := 0; i+1 < len(pairs); i += 2 {
		old = append(old, "{"+pairs[i]+"}", pairs[i+1])
	}
	return strings.NewReplacer(old...).Replace(sentence)
}
