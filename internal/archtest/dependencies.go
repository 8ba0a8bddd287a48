package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// requirement is one line of go.mod's require blocks.
var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+|cel\.dev/\S+) v\S+( // indirect)?$`)

// listed is one line of the table in docs/dependencies.md.
var listed = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// unexplained compares go.mod with docs/dependencies.md: each direct requirement
// has its reason, and each reason its requirement.
func unexplained(goMod, document string) []string {
	var direct, all []string
	for _, m := range requirement.FindAllStringSubmatch(goMod, -1) {
		all = append(all, m[1])
		if m[2] == "" {
			direct = append(direct, m[1])
		}
	}
	var explained, out []string
	for _, m := range listed.FindAllStringSubmatch(document, -1) {
		explained = append(explained, m[1])
	}
	for _, name := range direct {
		if !slices.Contains(explained, name) {
			out = append(out, fmt.Sprintf("go.mod requires %s, and docs/dependencies.md does not say why", name))
		}
	}
	for _, name := range explained {
		switch {
		case !slices.Contains(all, name):
			out = append(out, fmt.Sprintf("docs/dependencies.md explains %s, which go.mod does not require", name))
		case len(direct) > 0 && !slices.Contains(direct, name):
			out = append(out, fmt.Sprintf("docs/dependencies.md explains %s, which nothing of ours imports", name))
		}
	}
	if len(explained) == 0 || strings.TrimSpace(goMod) == "" {
		out = append(out, "nothing to compare: go.mod or the table in docs/dependencies.md is empty")
	}
	return out
}
