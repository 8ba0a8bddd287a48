package demo

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed words/*.yaml
var translations embed.FS

// words are the page's texts that are the demo's own, by language and English text.
func words() (map[string]map[string]string, error) {
	entries, err := translations.ReadDir("words")
	if err != nil {
		return nil, fmt.Errorf("list languages: %w", err)
	}
	out := map[string]map[string]string{}
	for _, e := range entries {
		source, err := translations.ReadFile(path.Join("words", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		says := map[string]string{}
		if err := yaml.Unmarshal(source, &says); err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Name(), err)
		}
		out[strings.TrimSuffix(e.Name(), path.Ext(e.Name()))] = says
	}
	return out, nil
}
