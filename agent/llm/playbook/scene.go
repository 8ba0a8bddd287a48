package playbook

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed scenes/*.yaml
var embedded embed.FS

// Scenes are the scenes that come with the program.
func Scenes() fs.FS {
	sub, err := fs.Sub(embedded, "scenes")
	if err != nil { // cannot be: the folder is embedded above
		return embedded
	}
	return sub
}

// wordsFile holds the texts and signs that all scenes share.
const wordsFile = "words.yaml"

// scene is one written scene.
type scene struct {
	name     string
	Title    string `yaml:"title"`    // a request that starts it, as a person would type it
	Language string `yaml:"language"` // en or zh: the language of its answers
	Request  string `yaml:"request"`  // regular expression over the request; named groups become values
	Unlisted bool   `yaml:"unlisted"` // people are not told of it: a program sends the request
	Steps    []step `yaml:"steps"`

	request *regexp.Regexp
}

// step is one turn of the scripted model: one or more calls, or an answer.
type step struct {
	ID      string    `yaml:"id"`
	Call    string    `yaml:"call"` // the same as one entry of calls
	Thought string    `yaml:"thought"`
	Args    yamlArgs  `yaml:"args"`
	Calls   []calling `yaml:"calls"`
	Answer  string    `yaml:"answer"`
	Capture []capture `yaml:"capture"` // values taken from the observations of this step's calls
	Then    []branch  `yaml:"then"`    // first that holds; none: the step below
}

type yamlArgs map[string]any

// calling is one call that a step makes; its strings are templates over the values.
type calling struct {
	Call    string   `yaml:"call"`
	Thought string   `yaml:"thought"`
	Args    yamlArgs `yaml:"args"`
}

// words are the shared texts and signs.
type words struct {
	Signs map[string]string `yaml:"signs"` // name of an outcome: regular expression over observations
	Notes string            `yaml:"notes"` // user messages that are notes of the harness, not requests
	Brief string            `yaml:"brief"` // system messages that ask for a summary of a text
	Texts map[string]struct {
		En string `yaml:"en"`
		Zh string `yaml:"zh"`
	} `yaml:"texts"`

	signs        map[string]*regexp.Regexp
	notes, brief *regexp.Regexp
}

// book is everything the server plays.
type book struct {
	scenes []*scene
	words  words
}

// load reads every scene of a folder and checks that it can be played.
func load(files fs.FS) (*book, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	b := &book{}
	for _, name := range names {
		if err := b.read(files, name); err != nil {
			return nil, fmt.Errorf("scene %s: %w", name, err)
		}
	}
	if b.words.signs == nil {
		return nil, fmt.Errorf("scenes: %s is missing", wordsFile)
	}
	for _, s := range b.scenes {
		if err := s.check(b.words.signs); err != nil {
			return nil, fmt.Errorf("scene %s: %w", s.name, err)
		}
	}
	return b, nil
}

func (b *book) read(files fs.FS, name string) error {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if name == wordsFile {
		if err := yaml.UnmarshalWithOptions(raw, &b.words, yaml.Strict()); err != nil {
			return err
		}
		return b.words.compile()
	}
	s := &scene{name: strings.TrimSuffix(path.Base(name), ".yaml")}
	if err := yaml.UnmarshalWithOptions(raw, s, yaml.Strict()); err != nil {
		return err
	}
	b.scenes = append(b.scenes, s)
	return nil
}

func (w *words) compile() (err error) {
	w.signs = map[string]*regexp.Regexp{}
	for name, expr := range w.Signs {
		if w.signs[name], err = regexp.Compile(expr); err != nil {
			return fmt.Errorf("sign %s: %w", name, err)
		}
	}
	if w.notes, err = regexp.Compile(w.Notes); err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	if w.brief, err = regexp.Compile(w.Brief); err != nil {
		return fmt.Errorf("brief: %w", err)
	}
	return nil
}

// check compiles a scene and refuses one that could get stuck.
func (s *scene) check(signs map[string]*regexp.Regexp) (err error) {
	if s.request, err = regexp.Compile(s.Request); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if !s.request.MatchString(s.Title) {
		return fmt.Errorf("its own title %q does not start it", s.Title)
	}
	ids := map[string]bool{}
	for _, st := range s.Steps {
		if st.ID == "" || ids[st.ID] {
			return fmt.Errorf("step id %q is empty or used twice", st.ID)
		}
		ids[st.ID] = true
	}
	for i := range s.Steps {
		if err := s.Steps[i].check(ids, signs); err != nil {
			return fmt.Errorf("step %s: %w", s.Steps[i].ID, err)
		}
	}
	return nil
}

func (st *step) check(ids map[string]bool, signs map[string]*regexp.Regexp) error {
	if st.Call != "" {
		st.Calls = append([]calling{{Call: st.Call, Thought: st.Thought, Args: st.Args}}, st.Calls...)
	}
	if (len(st.Calls) == 0) == (st.Answer == "") {
		return fmt.Errorf("needs either calls or an answer")
	}
	for i := range st.Then {
		if err := st.Then[i].check(ids, signs); err != nil {
			return err
		}
	}
	for i := range st.Capture {
		if st.Capture[i].Name == "" {
			return fmt.Errorf("a capture has no name")
		}
	}
	return st.tryTemplates()
}

// tryTemplates finds mistakes of syntax when the scenes are read, not when they play.
func (st *step) tryTemplates() error {
	for _, c := range st.Calls {
		if _, err := arguments(c, map[string]string{}, true); err != nil {
			return err
		}
	}
	for _, c := range st.Capture {
		if _, err := c.take(map[string]string{}, nil); err != nil {
			return err
		}
	}
	_, err := render(st.Answer, map[string]string{})
	return err
}

// at finds a step by its id; checked scenes name only steps that exist.
func (s *scene) at(id string) int {
	for i := range s.Steps {
		if s.Steps[i].ID == id {
			return i
		}
	}
	return len(s.Steps)
}
