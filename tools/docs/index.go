package docs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Bounds of a library. What is beyond is left out of the search, and the answer says so.
const (
	maxDocuments = 20_000
	maxBytes     = 2 << 20 // of one document
	atOnce       = 10      // files of one commit: what a deadline cuts off is little
)

// index knows the files of a folder and their words. Every question looks at the folder
// first, and reads what changed.
type index struct {
	root  *os.Root
	trash string
	turn  chan struct{} // who has its token may use words
	words *words
}

func newIndex(root *os.Root, trash string, w *words) *index {
	return &index{root: root, trash: trash, words: w, turn: make(chan struct{}, 1)}
}

// entry is one document of the folder.
type entry struct {
	id   string // file name without extension, or the path where that is not unique
	path string // relative to the folder
}

// listing is the folder as it is now.
type listing struct {
	entries []entry // sorted by path
	leftOut int     // files that are too many or too large
}

// answer is what the index says to a query.
type answer struct {
	listing
	terms []term
	paths []string // of the documents that may answer it, the best first
}

// take waits for the turn; what it gives ends it. Work ends with the context.
func (x *index) take(ctx context.Context) (done func(), err error) {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	x.words.SetInterrupt(ctx)
	return func() {
		x.words.SetInterrupt(context.Background())
		<-x.turn
	}, nil
}

// refresh lists the documents as the folder has them now, and indexes what changed.
func (x *index) refresh(ctx context.Context) (listing, error) {
	done, err := x.take(ctx)
	if err != nil {
		return listing{}, err
	}
	defer done()
	return x.update(ctx)
}

// find asks the index for the documents that may answer a query.
func (x *index) find(ctx context.Context, query string) (answer, error) {
	done, err := x.take(ctx)
	if err != nil {
		return answer{}, err
	}
	defer done()
	now, err := x.update(ctx)
	if err != nil {
		return answer{}, err
	}
	a, texts := answer{listing: now}, terms(query)
	if a.terms, err = x.weigh(texts, len(now.entries)); err != nil {
		return answer{}, fmt.Errorf("documents: %w", err)
	}
	if a.paths, err = x.words.best(texts, maxRead); err != nil {
		return answer{}, fmt.Errorf("documents: %w", err)
	}
	return a, nil
}

// update brings the index up to the folder.
func (x *index) update(ctx context.Context) (listing, error) {
	found, leftOut, err := x.walk(ctx)
	if err != nil {
		return listing{}, fmt.Errorf("documents: %w", err)
	}
	known, err := x.words.known()
	if err != nil {
		return listing{}, fmt.Errorf("index of the documents: %w", err)
	}
	var gone []int64
	var changed []string
	for name, k := range known {
		now, there := found[name]
		if !there || now.size != k.size || now.modified != k.modified {
			gone = append(gone, k.id)
		}
	}
	for name, now := range found {
		if k, ok := known[name]; !ok || now.size != k.size || now.modified != k.modified {
			changed = append(changed, name)
		}
	}
	if len(gone)+len(changed) > 0 {
		if err := x.follow(gone, changed, found); err != nil {
			return listing{}, fmt.Errorf("index of the documents: %w", err)
		}
	}
	return listing{entries: named(found), leftOut: leftOut}, nil
}

// follow takes changes over, in several commits: what a deadline leaves is for the next.
func (x *index) follow(gone []int64, changed []string, found map[string]stamp) error {
	err := x.words.together(func() error {
		for _, id := range gone {
			if err := x.words.drop(id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(changed)
	for batch := range slices.Chunk(changed, atOnce) {
		err := x.words.together(func() error {
			for _, name := range batch {
				if err := x.read(name, found[name]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read indexes a file; one that went away meanwhile is left to the next time.
func (x *index) read(name string, at stamp) error {
	d, err := load(x.root, name)
	if err != nil {
		return unlessGone(err)
	}
	return x.words.put(name, at, d.heading+"\n"+d.body)
}

// walk lists the files that can be searched. A link to a file counts as one, since
// Kubernetes mounts the files of a ConfigMap so; a link to a folder does not.
func (x *index) walk(ctx context.Context) (found map[string]stamp, leftOut int, err error) {
	found = map[string]stamp{}
	err = fs.WalkDir(x.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return unlessGone(err)
		case e.IsDir():
			return x.skipHidden(name, e)
		case !extensions[strings.ToLower(path.Ext(name))]:
			return nil
		}
		info, err := x.look(name, e)
		switch {
		case err != nil || !info.Mode().IsRegular():
			return unlessGone(err)
		case len(found) >= maxDocuments || info.Size() > maxBytes:
			leftOut++
		default:
			found[name] = stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
		}
		return nil
	})
	return found, leftOut, err
}

// look follows a link inside the folder; what leads out of it, or nowhere, is not there.
func (x *index) look(name string, e fs.DirEntry) (fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Info()
	}
	info, err := x.root.Stat(name)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return info, nil
}

// unlessGone lets a file vanish while the folder is looked at.
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

// close ends the use of the index.
func (x *index) close() error {
	x.turn <- struct{}{}
	return x.words.Close()
}

// load reads a document from its file. It is opened without waiting, so that a pipe in
// its place holds nobody, and what is no plain file any more is gone.
func load(root *os.Root, name string) (*document, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return newDocument(name, content), nil
}

// named gives every document its id.
func named(found map[string]stamp) []entry {
	count := map[string]int{}
	for name := range found {
		count[shortID(name)]++
	}
	list := make([]entry, 0, len(found))
	for name := range found {
		e := entry{id: shortID(name), path: name}
		if count[e.id] > 1 {
			e.id = name
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return list
}

func shortID(name string) string {
	return strings.TrimSuffix(path.Base(name), path.Ext(name))
}
