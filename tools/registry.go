package tools

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ErrBadTool is returned when a tool's own declaration is wrong: its name, its
// schema, its risk. It is a mistake of whoever wrote or configured the tool,
// never of the model.
var ErrBadTool = errors.New("tool declaration")

// namePattern is what every provider of the chat completions API accepts as a function name.
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Registry holds the tools by name. It may change while it is in use: the lists
// of MCP servers do.
type Registry struct {
	mu      sync.RWMutex
	entries map[string]entry
}

// entry keeps what was checked when the tool was added.
type entry struct {
	tool   Tool
	spec   Spec
	schema *Schema
}

// NewRegistry checks the tools and returns a registry of them. The error
// matches ErrBadTool and names every tool that is wrong.
func NewRegistry(ts ...Tool) (*Registry, error) {
	r := &Registry{entries: make(map[string]entry, len(ts))}
	var errs []error
	for _, t := range ts {
		errs = append(errs, r.Add(t))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add checks a tool and adds it. A name that is taken is an error: a tool never
// replaces another silently.
func (r *Registry) Add(t Tool) error {
	spec := t.Spec()
	schema, err := checkSpec(spec)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.entries[spec.Name]; taken {
		return fmt.Errorf("%w: the name %q is taken twice", ErrBadTool, spec.Name)
	}
	r.entries[spec.Name] = entry{tool: t, spec: spec, schema: schema}
	return nil
}

// Replace takes tools out and puts others in at one moment. Nothing changes when one
// of the new ones is wrong or its name is taken.
func (r *Registry) Replace(names []string, by ...Tool) error {
	fresh, err := NewRegistry(by...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range fresh.entries {
		if _, taken := r.entries[name]; taken && !slices.Contains(names, name) {
			return fmt.Errorf("%w: the name %q is taken twice", ErrBadTool, name)
		}
	}
	for _, name := range names {
		delete(r.entries, name)
	}
	maps.Copy(r.entries, fresh.entries)
	return nil
}

// Remove takes a tool out and says whether it was there.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.entries[name]
	delete(r.entries, name)
	return ok
}

// Get returns the tool of that exact name.
func (r *Registry) Get(name string) (Tool, bool) {
	e, ok := r.entry(name)
	return e.tool, ok
}

// Schema returns the compiled schema of a tool's arguments, nil for an unknown name.
func (r *Registry) Schema(name string) *Schema {
	e, _ := r.entry(name)
	return e.schema
}

// Near returns up to three names that somebody who wrote name may have meant,
// the nearest first.
func (r *Registry) Near(name string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.entries))
	for n := range r.entries {
		names = append(names, n)
	}
	return Near(name, names)
}

// Specs returns the contracts of all tools, sorted by name, so that equal
// registries give equal prompts.
func (r *Registry) Specs() []Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	specs := make([]Spec, 0, len(r.entries))
	for _, e := range r.entries {
		specs = append(specs, e.spec)
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
	return specs
}

func (r *Registry) entry(name string) (entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.entries[name]
	return e, ok
}

// checkSpec refuses a declaration that the gates could not keep.
func checkSpec(s Spec) (*Schema, error) {
	if !namePattern.MatchString(s.Name) {
		return nil, fmt.Errorf("%w: the name %q is not 1 to 64 of letters, digits, _ and -", ErrBadTool, s.Name)
	}
	switch s.Risk {
	case Low:
	case Medium, High:
		if !s.Effects {
			return nil, fmt.Errorf("%w: %s has risk %s but declares no effects", ErrBadTool, s.Name, s.Risk)
		}
	default:
		return nil, fmt.Errorf("%w: %s has risk %q; it must be low, medium or high", ErrBadTool, s.Name, s.Risk)
	}
	if s.Idempotent && !s.Effects {
		return nil, fmt.Errorf("%w: %s is idempotent but declares no effects", ErrBadTool, s.Name)
	}
	return Compile(s)
}
