package docs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Kept is a deleted document in the trash.
type Kept struct {
	Name string // in the trash
	Path string // where it was
	At   time.Time
	Size int64
}

// Errors of Restore.
var (
	ErrNotKept = errors.New("the trash does not have it")
	ErrSeveral = errors.New("the trash has several of it")
	ErrInPlace = errors.New("there is another document in its place")
)

// Trash lists what was deleted from a folder of documents, the latest first.
func Trash(c Config) ([]Kept, error) {
	root, trash, err := openTrash(c)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return list(root, trash)
}

// Find gives what the trash has under a name: its own name there, or the document's id,
// file name or path. It is several when the id does not tell.
func Find(c Config, name string) ([]Kept, error) {
	all, err := Trash(c)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(k Kept) bool { return k.Name == name }); i >= 0 {
		return all[i : i+1], nil
	}
	return slices.DeleteFunc(all, func(k Kept) bool {
		return !slices.Contains([]string{k.Path, path.Base(k.Path), shortID(k.Path)}, name)
	}), nil
}

// Restore puts a document of the trash back where it was, by any of the names that Find
// takes. A document that is in its place meanwhile stays, and so does the one in the trash.
func Restore(c Config, name string) (Kept, error) {
	found, err := Find(c, name)
	switch {
	case err != nil:
		return Kept{}, err
	case len(found) == 0:
		return Kept{}, ErrNotKept
	case len(found) > 1:
		return Kept{}, ErrSeveral
	}
	root, trash, err := openTrash(c)
	if err != nil {
		return Kept{}, err
	}
	defer root.Close()
	k := found[0]
	if err := root.MkdirAll(path.Dir(k.Path), 0o750); err != nil {
		return k, err
	}
	// A link is refused where there is something already; a move would replace it.
	if err := root.Link(path.Join(trash, k.Name), k.Path); errors.Is(err, fs.ErrExist) {
		return k, ErrInPlace
	} else if err != nil {
		return k, err
	}
	return k, root.Remove(path.Join(trash, k.Name))
}

func openTrash(c Config) (*os.Root, string, error) {
	trash, err := trashInside(c)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(c.Path)
	if err != nil {
		return nil, "", fmt.Errorf("folder of the documents: %w", err)
	}
	return root, trash, nil
}

func list(root *os.Root, trash string) ([]Kept, error) {
	entries, err := fs.ReadDir(root.FS(), trash)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Kept
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or nothing of ours
		}
		if k, ok := keptAs(e.Name()); ok {
			k.Size = info.Size()
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b Kept) int { return strings.Compare(b.Name, a.Name) })
	return all, nil
}

// keptAs reads a name that freeName made.
func keptAs(name string) (Kept, bool) {
	stamped, was, ok := strings.Cut(name, "-")
	at, err := time.Parse(stampLayout, stamped)
	if !ok || err != nil {
		return Kept{}, false
	}
	if !extensions[strings.ToLower(path.Ext(was))] { // one of several of that name and instant
		was = strings.TrimSuffix(was, path.Ext(was))
	}
	was = strings.NewReplacer("%2F", "/", "%25", "%").Replace(was)
	return Kept{Name: name, Path: was, At: at}, fs.ValidPath(was)
}
