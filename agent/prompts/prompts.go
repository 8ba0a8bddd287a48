// Package prompts holds every sentence that countersign itself says to the
// model, as template files.
package prompts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var files embed.FS

// Prompts are the parsed templates.
type Prompts struct {
	set     *template.Template
	version string
}

// New parses the templates that are built in.
func New() (*Prompts, error) {
	set, err := template.New("").Option("missingkey=error").ParseFS(files, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse prompts: %w", err)
	}
	version, err := sum()
	if err != nil {
		return nil, err
	}
	return &Prompts{set: set, version: version}, nil
}

// With gives a set in which one template, named without its ending, says something
// else; its version differs too. The set it is asked of stays as it is.
func (p *Prompts) With(name, text string) (*Prompts, error) {
	set, err := p.set.Clone()
	if err == nil {
		_, err = set.New(name + ".tmpl").Parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("prompt %s: %w", name, err)
	}
	h := sha256.Sum256([]byte(p.version + "\x00" + name + "\x00" + text))
	return &Prompts{set: set, version: hex.EncodeToString(h[:])[:12]}, nil
}

// Version names this set of templates: it is stored with every run.
func (p *Prompts) Version() string { return p.version }

// Render fills a template, named without its ending.
func (p *Prompts) Render(name string, data any) (string, error) {
	var b strings.Builder
	if err := p.set.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
		return "", fmt.Errorf("render prompt %s: %w", name, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Quote frames other people's words as one JSON object on one line, so that no
// line break or mark in them can pass for a frame of ours.
func Quote(author, name, text string) string {
	return Line(struct {
		Author string `json:"author"`
		Name   string `json:"name,omitempty"`
		Text   string `json:"text"`
	}{author, name, text})
}

// Line writes strings as one line of JSON, for the same reason.
func Line(strs any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strs) // strings always encode
	return strings.TrimSpace(b.String())
}

func sum() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00%d\x00", path, len(text))
		h.Write(text)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("hash prompts: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
