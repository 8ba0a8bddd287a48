package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// matches reports whether a package's path fits a pattern.
func matches(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	folder, below := strings.CutSuffix(pattern, "/...")
	return name == folder || below && strings.HasPrefix(name, folder+"/")
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// eachImport calls visit for every import of the files chosen.
func (t *tree) eachImport(tests bool, visit func(p *pkg, f *file, name string)) {
	for _, p := range t.sorted() {
		for _, f := range p.files {
			if f.test && !tests {
				continue
			}
			for _, name := range f.imports {
				visit(p, f, name)
			}
		}
	}
}

// upward lists imports against the order of the spine.
func (t *tree) upward() []string {
	var out []string
	t.eachImport(false, func(p *pkg, f *file, name string) {
		from, to := layerOf(p.path), layerOf(name)
		if from > to && to >= 0 {
			out = append(out, fmt.Sprintf("%s: %s imports %s; calls go down: %s stands above %s",
				f.path, p.path, name, spine[to].layer, spine[from].layer))
		}
	})
	return out
}

// layerOf gives the place in the spine, -1 outside it.
func layerOf(name string) int {
	for i, l := range spine {
		if matchesAny(l.in, name) {
			return i
		}
	}
	return -1
}

// foreign lists imports of what another package owns.
func (t *tree) foreign(rules []owner) []string {
	var out []string
	t.eachImport(true, func(p *pkg, f *file, name string) {
		for _, o := range rules {
			if f.test && !o.also || !matches(o.of, name) || matchesAny(o.by, p.path) {
				continue
			}
			out = append(out, fmt.Sprintf("%s: imports %s, which is for %s: %s", f.path, name, allowed(o.by), o.why))
		}
	})
	return out
}

func allowed(by []string) string {
	if len(by) == 0 {
		return "no package"
	}
	return strings.Join(by, ", ") + " alone"
}

// strayed lists imports of ours that a closed package may not have.
func (t *tree) strayed(rules []closed) []string {
	var out []string
	t.eachImport(true, func(p *pkg, f *file, name string) {
		for _, c := range rules {
			if matches(c.in, p.path) && t.isOurs(name) && !matchesAny(c.only, name) {
				out = append(out, fmt.Sprintf("%s: %s may import of ours only %s: %s (%s)",
					f.path, p.path, strings.Join(c.only, ", "), c.why, name))
			}
		}
	})
	return out
}

// impure lists imports that pure packages may not have.
func (t *tree) impure(rules []pure) []string {
	var out []string
	t.eachImport(false, func(p *pkg, f *file, name string) {
		for _, r := range rules {
			if matches(r.in, p.path) && matchesAny(world, name) {
				out = append(out, fmt.Sprintf("%s: %s imports %s: %s", f.path, p.path, name, r.why))
			}
		}
	})
	return out
}

// reached lists paths of imports that lead where they must not.
func (t *tree) reached(rules []hidden) []string {
	var out []string
	for _, r := range rules {
		for _, p := range t.sorted() {
			if !matches(r.from, p.path) {
				continue
			}
			if way := t.way(p.path, r.what, map[string]bool{}); way != nil {
				out = append(out, fmt.Sprintf("%s: %s", strings.Join(way, " ► "), r.why))
			}
		}
	}
	return out
}

// way finds a chain of imports from a package to one that fits the pattern, nil
// when there is none. Tests do not count: they are no part of the program.
func (t *tree) way(from, to string, seen map[string]bool) []string {
	if seen[from] || t.packages[from] == nil {
		return nil
	}
	seen[from] = true
	for _, f := range t.packages[from].files {
		if f.test {
			continue
		}
		for _, name := range f.imports {
			if matches(to, name) {
				return []string{from, name}
			}
			if rest := t.way(name, to, seen); rest != nil {
				return append([]string{from}, rest...)
			}
		}
	}
	return nil
}

// vague lists packages whose name says nothing about what they provide.
func (t *tree) vague() []string {
	var out []string
	for _, p := range t.sorted() {
		for _, part := range strings.Split(p.path, "/") {
			if slices.Contains(vagueNames, part) {
				out = append(out, fmt.Sprintf("%s: %q names nothing; a package is called after what it provides", p.path, part))
			}
		}
	}
	return out
}
