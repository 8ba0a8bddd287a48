package localslack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// journalName is the file within Config.Dir.
const journalName = "slack.jsonl"

// The kinds of records. Each record is the whole new value of its subject, so
// reading back is "the last one wins" and a cut last line loses one change.
const (
	kindPerson    = "person"
	kindUsergroup = "usergroup"
	kindChannel   = "channel"
	kindMessage   = "message"
	kindFile      = "file"
	kindHome      = "home"
	kindViews     = "views"
	kindEvent     = "event"      // to be delivered
	kindEventDone = "event_done" // acked or given up
)

type record struct {
	Kind  string `json:"kind"`
	Seq   int64  `json:"seq"` // the workspace's id counter after this change
	Value any    `json:"value"`
}

type viewStack struct {
	User  string `json:"user"`
	Views []View `json:"views"`
}

// journal appends records to a file. A nil journal keeps nothing.
type journal struct {
	file *os.File
}

// openJournal reads what dir holds into the workspace and opens the file for
// appending.
func openJournal(dir string, w *Workspace) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("local Slack folder: %w", err)
	}
	path := filepath.Join(dir, journalName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("local Slack journal: %w", err)
	}
	lines, good, err := w.readBack(f)
	if err == nil {
		err = errors.Join(f.Truncate(good), seekTo(f, good))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("local Slack journal %s: %w", path, err)
	}
	j := &journal{file: f}
	if live := w.live(); lines > compactAfter && lines > 3*len(live) {
		return j.compact(path, w.seq, live)
	}
	return j, nil
}

// compactAfter is how many lines a journal has before it is worth rewriting.
const compactAfter = 1000

// live is one record for each subject as it stands.
func (w *Workspace) live() []record {
	var out []record
	add := func(kind string, v any) { out = append(out, record{Kind: kind, Value: v}) }
	for _, p := range sortedBy(w.people, func(p Person) string { return p.ID }) {
		add(kindPerson, p)
	}
	for _, g := range sortedBy(w.usergroups, func(g Usergroup) string { return g.ID }) {
		add(kindUsergroup, g)
	}
	for _, c := range sortedBy(w.channels, func(c Channel) string { return c.ID }) {
		add(kindChannel, c)
		for _, m := range w.messages[c.ID] {
			add(kindMessage, m)
		}
	}
	for _, f := range sortedBy(w.files, func(f File) string { return f.ID }) {
		add(kindFile, f)
	}
	for _, v := range sortedBy(w.homes, func(v View) string { return v.User }) {
		add(kindHome, v)
		add(kindViews, viewStack{User: v.User, Views: w.views[v.User]})
	}
	for user, stack := range w.views {
		if _, done := w.homes[user]; !done {
			add(kindViews, viewStack{User: user, Views: stack})
		}
	}
	for _, o := range w.unsent {
		add(kindEvent, o)
	}
	return out
}

// compact writes the records to a new file and puts it in the place of the
// old one.
func (j *journal) compact(path string, seq int64, live []record) (*journal, error) {
	defer j.file.Close()
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("local Slack journal: %w", err)
	}
	fresh := &journal{file: f}
	if err := errors.Join(fresh.append(seq, live), f.Sync(), os.Rename(path+".new", path)); err != nil {
		f.Close()
		return nil, fmt.Errorf("local Slack journal: %w", err)
	}
	return fresh, nil
}

func seekTo(f *os.File, offset int64) error {
	_, err := f.Seek(offset, io.SeekStart)
	return err
}

// readBack applies every whole line; it returns their number and where the
// next one starts.
func (w *Workspace) readBack(r io.Reader) (lines int, good int64, err error) {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, good, nil // a line without its end was cut by a crash
		}
		if err != nil {
			return lines, good, err
		}
		if err := w.apply(line); err != nil {
			return lines, good, fmt.Errorf("line %d: %w", n, err)
		}
		lines = n
		good += int64(len(line))
	}
}

func (w *Workspace) apply(line []byte) error {
	var r struct {
		Kind  string          `json:"kind"`
		Seq   int64           `json:"seq"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	w.seq = max(w.seq, r.Seq)
	switch r.Kind {
	case kindPerson:
		return keep(r.Value, func(p Person) { w.people[p.ID] = p })
	case kindUsergroup:
		return keep(r.Value, func(g Usergroup) { w.usergroups[g.ID] = g })
	case kindChannel:
		return keep(r.Value, func(c Channel) { w.channels[c.ID] = c })
	case kindMessage:
		return keep(r.Value, w.storeMessage)
	case kindFile:
		return keep(r.Value, func(f File) { w.files[f.ID] = f })
	case kindHome:
		return keep(r.Value, func(v View) { w.homes[v.User] = v })
	case kindViews:
		return keep(r.Value, func(s viewStack) { w.views[s.User] = s.Views })
	case kindEvent:
		return keep(r.Value, func(o outEvent) { w.unsent = append(w.unsent, o) })
	case kindEventDone:
		return keep(r.Value, func(id string) {
			w.unsent = slices.DeleteFunc(w.unsent, func(o outEvent) bool { return o.ID == id })
		})
	}
	return nil // written by a newer version
}

func keep[T any](raw json.RawMessage, put func(T)) error {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	put(v)
	return nil
}

func (j *journal) append(seq int64, records []record) error {
	if j == nil || len(records) == 0 {
		return nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, r := range records {
		r.Seq = seq
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("local Slack journal: %w", err)
		}
	}
	if _, err := j.file.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("local Slack journal: %w", err)
	}
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
