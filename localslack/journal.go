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
	good, err := w.readBack(f)
	if err == nil {
		err = errors.Join(f.Truncate(good), seekTo(f, good))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("local Slack journal %s: %w", path, err)
	}
	return &journal{file: f}, nil
}

func seekTo(f *os.File, offset int64) error {
	_, err := f.Seek(offset, io.SeekStart)
	return err
}

// readBack applies every whole line and returns where the next one starts.
func (w *Workspace) readBack(r io.Reader) (int64, error) {
	var good int64
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil // a line without its end was cut by a crash
		}
		if err != nil {
			return good, err
		}
		if err := w.apply(line); err != nil {
			return good, fmt.Errorf("line %d: %w", n, err)
		}
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
