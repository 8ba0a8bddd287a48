package docs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"countersign/tools"
)

// headLines is how much of a document the card shows.
const headLines = 5

// stampLayout is the time in the name of a thing in the trash.
const stampLayout = "20060102T150405.000000Z"

// The material fields of a preview: which file, and what was in it.
const (
	materialPath = "path"
	materialSum  = "sha256"
)

var deleteSpec = tools.Spec{
	Name:        "delete_document",
	Description: "Deletes one document by its id, as search_docs gives it. It goes to the trash, from where people can take it back.",
	Parameters: []byte(`{"type":"object","properties":{"id":{"type":"string","minLength":1,"maxLength":500,` +
		`"description":"Id of the document, such as doc_42."}},"required":["id"],"additionalProperties":false}`),
	Risk:    tools.High,
	Effects: true,
}

type target struct {
	ID string `json:"id"`
}

// check refuses an unknown document before anybody is asked about it.
func (l *library) check(ctx context.Context, t target) error {
	_, err := l.find(ctx, t.ID)
	return err
}

// find resolves an id among the documents that there are; no path is ever built from it.
func (l *library) find(ctx context.Context, id string) (*document, error) {
	now, err := l.index.refresh(ctx)
	if err != nil {
		return nil, &tools.Failure{Code: "unreadable", Message: "the documents cannot be read at the moment"}
	}
	var matches []entry
	var known []string
	for _, e := range now.entries {
		if e.id == id || e.path == id {
			return l.fresh(e)
		}
		if path.Base(e.path) == id || shortID(e.path) == id {
			matches = append(matches, e)
		}
		known = append(known, e.id)
	}
	switch len(matches) {
	case 0:
		return nil, &tools.Failure{Code: "not_found", Pointer: "/id",
			Message: fmt.Sprintf("no document has the id %q%s", id, tools.DidYouMean(tools.Near(id, known)))}
	case 1:
		return l.fresh(matches[0])
	}
	return nil, &tools.Failure{Code: "ambiguous", Pointer: "/id",
		Message: fmt.Sprintf("several documents have the id %q: %s", id, ids(matches))}
}

// fresh reads the document from its file, whatever the index believes: a file
// can change without its size and time showing it.
func (l *library) fresh(e entry) (*document, error) {
	read, err := load(l.root, e.path)
	if isGone(err) {
		return nil, &tools.Failure{Code: "not_found", Pointer: "/id", Message: fmt.Sprintf("the document %s is gone", e.id)}
	}
	if err != nil {
		return nil, &tools.Failure{Code: "unreadable", Pointer: "/id", Message: fmt.Sprintf("the document %s cannot be read", e.id)}
	}
	if info, err := l.root.Lstat(e.path); err != nil || !info.Mode().IsRegular() {
		return nil, &tools.Failure{Code: "not_a_file", Pointer: "/id", Message: fmt.Sprintf("the document %s is a link to its file, so it can only be deleted by people", e.id)}
	}
	read.id = e.id
	return read, nil
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func (l *library) preview(ctx context.Context, _ tools.Call, t target) (tools.Preview, error) {
	d, err := l.find(ctx, t.ID)
	if err != nil {
		return tools.Preview{}, err
	}
	return previewOf(d), nil
}

func previewOf(d *document) tools.Preview {
	return tools.Preview{
		Summary:  fmt.Sprintf("The document %s (%s) would move to the trash.", d.id, d.title),
		Detail:   fmt.Sprintf("%s, %d bytes\n\n%s", d.path, d.size, d.head(headLines)),
		Material: map[string]string{materialPath: d.path, materialSum: d.sum},
	}
}

// remove moves the document to the trash, if it is still the one that was shown.
func (l *library) remove(ctx context.Context, c tools.Call, t target) (tools.Result, error) {
	d, err := l.find(ctx, t.ID)
	if err != nil {
		return tools.Result{}, err
	}
	now := previewOf(d)
	if c.Preview != nil && now.Fingerprint() != c.Preview.Fingerprint() {
		return tools.Result{}, changed(d)
	}
	kept, err := l.toTrash(d)
	if err != nil {
		return tools.Result{}, err
	}
	effect := fmt.Sprintf("deleted document %s (%s), restorable", d.id, d.title)
	return tools.Result{
		Text:    fmt.Sprintf("%s. It is kept as %s.", effect, kept),
		Summary: effect,
		Effect:  effect,
	}, nil
}

// toTrash moves a document in one step. A document that was exchanged in the
// last moment is moved back.
func (l *library) toTrash(d *document) (string, error) {
	kept, err := l.freeName(d.path)
	if err == nil {
		err = l.root.Rename(d.path, kept)
	}
	if err != nil {
		return "", &tools.Failure{Code: "failed", Pointer: "/id",
			Message: fmt.Sprintf("the document %s could not be moved to the trash; nothing was deleted", d.id)}
	}
	if !l.holds(kept, d.sum) {
		return "", l.putBack(kept, d)
	}
	return kept, errors.Join(l.sync(path.Dir(d.path)), l.sync(l.trash))
}

// putBack undoes a move, unless there is a new document in the place.
func (l *library) putBack(kept string, d *document) error {
	if _, err := l.root.Lstat(d.path); !isGone(err) {
		return fmt.Errorf("the document %s changed while it was deleted; what was moved is kept as %s", d.id, kept)
	}
	if err := l.root.Rename(kept, d.path); err != nil {
		return fmt.Errorf("the document %s changed while it was deleted; what was moved is kept as %s: %w", d.id, kept, err)
	}
	return changed(d)
}

func changed(d *document) *tools.Failure {
	return &tools.Failure{Code: "changed", Pointer: "/id",
		Message: fmt.Sprintf("the document %s has changed since it was shown to the person who approved; nothing was deleted", d.id)}
}

// sync makes a move outlive a power cut, before anybody records that it happened.
func (l *library) sync(name string) error {
	dir, err := l.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// freeName is a name in the trash that nothing has yet.
func (l *library) freeName(name string) (string, error) {
	if err := l.root.MkdirAll(l.trash, 0o750); err != nil {
		return "", err
	}
	first := path.Join(l.trash, l.now().UTC().Format(stampLayout)+"-"+flat(name))
	for try, kept := 1, first; try < 100; try++ {
		if _, err := l.root.Lstat(kept); isGone(err) {
			return kept, nil
		}
		kept = fmt.Sprintf("%s.%d", first, try)
	}
	return "", errors.New("no free name in the trash")
}

// flat keeps the whole path of a document in one file name, so that it is known
// where it belongs.
func flat(name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(name)
}

// probe finds out whether a deletion, whose outcome is not known, happened: the
// file that was shown is in its place, or it is in the trash.
func (l *library) probe(_ context.Context, c tools.Call, _ target) (tools.Probed, error) {
	if c.Preview == nil || c.Preview.Material[materialPath] == "" {
		return tools.ProbedUnknown, nil
	}
	name, sum := c.Preview.Material[materialPath], c.Preview.Material[materialSum]
	inPlace := l.holds(name, sum)
	inTrash, err := l.inTrash(name, sum)
	switch {
	case err != nil || inPlace == inTrash:
		return tools.ProbedUnknown, err
	case inTrash:
		return tools.ProbedHappened, nil
	}
	return tools.ProbedNot, nil
}

func (l *library) holds(name, sum string) bool {
	d, err := load(l.root, name)
	return err == nil && d.sum == sum
}

func (l *library) inTrash(name, sum string) (bool, error) {
	entries, err := fs.ReadDir(l.root.FS(), l.trash)
	if isGone(err) {
		return false, nil
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "-"+flat(name)) && l.holds(path.Join(l.trash, e.Name()), sum) {
			return true, nil
		}
	}
	return false, err
}
