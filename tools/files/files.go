// Package files lets the agent read the files of one folder, and nothing
// outside it: paths that climb, absolute paths, links that lead out and things
// that are no plain files are refused.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"countersign/tools"
)

// Limits of one answer.
const (
	maxBytes   = 2 << 20 // of a file that is read
	maxEntries = 1000    // of a folder that is listed
	maxWalk    = 2000    // of entries looked at for a near name
)

type input struct {
	Path string `json:"path"`
}

// folder is the root that cannot be left.
type folder struct{ root *os.Root }

// New returns read_file and list_files for the folder root, which must exist.
func New(root string) ([]tools.Tool, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("folder of the file tools: %w", err)
	}
	f := folder{r}
	read, err := tools.New(readSpec, f.read, tools.WithCheck(f.check))
	if err != nil {
		return nil, err
	}
	list, err := tools.New(listSpec, f.list, tools.WithCheck(f.check))
	if err != nil {
		return nil, err
	}
	return []tools.Tool{read, list}, nil
}

var readSpec = tools.Spec{
	Name:        "read_file",
	Description: "Reads a text file. The path is relative to the data folder.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":1024,` +
		`"description":"Relative path of the file."}},"required":["path"],"additionalProperties":false}`),
	Risk:     tools.Low,
	Parallel: true,
}

var listSpec = tools.Spec{
	Name:        "list_files",
	Description: "Lists the files and folders of a folder. The path is relative to the data folder.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","maxLength":1024,"default":".",` +
		`"description":"Relative path of the folder; the data folder itself if left out."}},"additionalProperties":false}`),
	Risk:     tools.Low,
	Parallel: true,
}

// check refuses a path by its text alone.
func (f folder) check(_ context.Context, in input) error {
	_, err := local(in.Path)
	return err
}

// local gives the path in the form that is used inside the root.
func local(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", &tools.Failure{Code: "forbidden", Pointer: "/path",
			Message: "the path must be relative and stay inside the data folder, without leading / and without .. that climbs out of it"}
	}
	return filepath.ToSlash(filepath.Clean(name)), nil
}

func (f folder) read(_ context.Context, _ tools.Call, in input) (tools.Result, error) {
	name, err := local(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	content, err := f.content(name)
	if err != nil {
		return tools.Result{}, f.explain(name, err)
	}
	text, err := textOf(name, content)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{
		Text:    text,
		Summary: fmt.Sprintf("read %s, %d lines, %d bytes", name, lines(text), len(content)),
		Sources: []string{name},
	}, nil
}

// content reads a plain file. What it is is asked before it is opened, since
// opening a device can do something, and again after, since it may have been
// exchanged; it is opened without waiting, so that a pipe cannot hold the call.
func (f folder) content(name string) ([]byte, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := plain(name, info); err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if err := plain(name, info); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		return nil, &tools.Failure{Code: "too_large", Pointer: "/path",
			Message: fmt.Sprintf("%s has %d bytes; files of up to %d bytes can be read", name, info.Size(), maxBytes)}
	}
	return content, err
}

// plain refuses what is no plain file.
func plain(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return &tools.Failure{Code: "not_a_file", Pointer: "/path", Message: name + " is a folder; list_files lists it"}
	case !info.Mode().IsRegular():
		return &tools.Failure{Code: "not_a_file", Pointer: "/path", Message: name + " is not a plain file"}
	}
	return nil
}

func (f folder) list(_ context.Context, _ tools.Call, in input) (tools.Result, error) {
	name, err := local(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	entries, err := fs.ReadDir(f.root.FS(), name)
	if err != nil {
		return tools.Result{}, f.explain(name, err)
	}
	table := &tools.Table{Columns: []string{"name", "kind", "bytes"}}
	for _, e := range entries[:min(len(entries), maxEntries)] {
		table.Rows = append(table.Rows, row(e))
	}
	table.More = len(entries) > maxEntries
	return tools.Result{
		Text:    listing(name, table, len(entries)),
		Summary: fmt.Sprintf("listed %s, %d entries", name, len(entries)),
		Sources: []string{name},
		Table:   table,
	}, nil
}

// row describes an entry; the size of what is no plain file says nothing.
func row(e fs.DirEntry) []string {
	switch {
	case e.IsDir():
		return []string{e.Name() + "/", "folder", ""}
	case e.Type()&fs.ModeSymlink != 0:
		return []string{e.Name(), "link", ""}
	case !e.Type().IsRegular():
		return []string{e.Name(), "special", ""}
	}
	info, err := e.Info()
	if err != nil {
		return []string{e.Name(), "file", ""}
	}
	return []string{e.Name(), "file", fmt.Sprint(info.Size())}
}

func listing(name string, t *tools.Table, total int) string {
	if total == 0 {
		return name + " is an empty folder"
	}
	var b strings.Builder
	for _, r := range t.Rows {
		b.WriteString(r[0])
		if r[2] != "" {
			b.WriteString("  " + r[2] + " bytes")
		} else if r[1] != "folder" {
			b.WriteString("  (" + r[1] + ")")
		}
		b.WriteByte('\n')
	}
	if t.More {
		fmt.Fprintf(&b, "… and %d more entries", total-len(t.Rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// explain tells the model what an error of the file system means. The texts of
// the system would name our folder.
func (f folder) explain(name string, err error) error {
	if failure := (*tools.Failure)(nil); errors.As(err, &failure) {
		return failure
	}
	failure := &tools.Failure{Code: "unreadable", Pointer: "/path", Message: name + " cannot be read"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		failure.Code, failure.Message = "not_found", "no such file "+name+tools.DidYouMean(f.near(name))
	case errors.Is(err, fs.ErrPermission):
		failure.Code, failure.Message = "forbidden", name+" may not be read by this process"
	case errors.Is(err, syscall.ENOTDIR):
		failure.Code, failure.Message = "not_a_folder", name+" is not a folder"
	case !errors.As(err, new(syscall.Errno)):
		// What the root refuses itself carries no system error.
		failure.Code, failure.Message = "forbidden", name+" leads out of the data folder"
	}
	return failure
}

// near looks for files with a name like that of the missing one, in every
// folder inside the root.
func (f folder) near(name string) []string {
	paths := map[string]string{}
	var names []string
	seen := 0
	// An error of the walk only means fewer suggestions.
	_ = fs.WalkDir(f.root.FS(), ".", func(p string, _ fs.DirEntry, err error) error {
		if seen++; seen > maxWalk {
			return fs.SkipAll
		}
		base := path.Base(p)
		if _, known := paths[base]; err == nil && !known && p != "." {
			paths[base] = p
			names = append(names, base)
		}
		return nil
	})
	near := tools.Near(path.Base(name), names)
	for i, n := range near {
		near[i] = paths[n]
	}
	return near
}
