package docs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a library; what is beyond is left out of the search.
const (
	maxDocuments = 5000
	maxBytes     = 2 << 20 // of one document
)

// index keeps the documents of a folder in memory and reads again what changed.
type index struct {
	files fs.FS
	trash string

	mu     sync.Mutex
	cached map[string]cachedDocument
}

// cachedDocument knows what the file looked like when it was read.
type cachedDocument struct {
	doc      *document
	modified time.Time
	size     int64
}

func newIndex(files fs.FS, trash string) *index {
	return &index{files: files, trash: trash, cached: map[string]cachedDocument{}}
}

// refresh returns the documents as the folder has them now, sorted by path.
func (x *index) refresh(ctx context.Context) ([]*document, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := make(map[string]cachedDocument, len(x.cached))
	err := fs.WalkDir(x.files, ".", func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return unlessGone(err)
		}
		if e.IsDir() {
			return x.skipHidden(name, e)
		}
		if len(seen) >= maxDocuments || !e.Type().IsRegular() || !extensions[strings.ToLower(path.Ext(name))] {
			return nil
		}
		return x.look(name, e, seen)
	})
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	x.cached = seen
	return sorted(seen), nil
}

// unlessGone lets a file vanish while the folder is walked.
func unlessGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// skipHidden leaves the trash and hidden folders out.
func (x *index) skipHidden(name string, e fs.DirEntry) error {
	if name == x.trash || name != "." && strings.HasPrefix(e.Name(), ".") {
		return fs.SkipDir
	}
	return nil
}

// look takes a document from the cache, or reads it when its file changed.
func (x *index) look(name string, e fs.DirEntry, seen map[string]cachedDocument) error {
	info, err := e.Info()
	if err != nil {
		return unlessGone(err)
	}
	if info.Size() > maxBytes {
		return nil
	}
	known, ok := x.cached[name]
	if ok && known.modified.Equal(info.ModTime()) && known.size == info.Size() {
		seen[name] = known
		return nil
	}
	doc, err := load(x.files, name)
	if err != nil {
		return unlessGone(err)
	}
	seen[name] = cachedDocument{doc: doc, modified: info.ModTime(), size: info.Size()}
	return nil
}

// load reads a document from its file.
func load(files fs.FS, name string) (*document, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return newDocument(name, content), nil
}

// sorted gives every document its id: the file name without extension, or the
// whole path where two share it.
func sorted(seen map[string]cachedDocument) []*document {
	count := map[string]int{}
	for name := range seen {
		count[shortID(name)]++
	}
	list := make([]*document, 0, len(seen))
	for name, c := range seen {
		d := *c.doc // a copy: other searches hold the one before
		if d.id = shortID(name); count[d.id] > 1 {
			d.id = name
		}
		list = append(list, &d)
	}
	slices.SortFunc(list, func(a, b *document) int { return strings.Compare(a.path, b.path) })
	return list
}

func shortID(name string) string {
	return strings.TrimSuffix(path.Base(name), path.Ext(name))
}
