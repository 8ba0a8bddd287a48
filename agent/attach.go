package agent

import (
	"encoding/json"

	"countersign/tools"
)

// Attachment is what a step gave beside text, for people.
type Attachment struct {
	Step    int
	Name    string
	MIME    string // TableMIME: Content is a tools.Table as JSON
	Content []byte
}

// TableMIME marks an attachment that is a table.
const TableMIME = "application/vnd.countersign.table+json"

// Bounds of what is kept beside a step: bytes of a table as JSON, bytes of a file, files.
const (
	maxTableBytes = 512 << 10
	maxFileBytes  = 4 << 20
	maxFiles      = 5
)

// attached are the attachments of a result. A table that is too large loses its last
// rows and says so; a file that is too large is left out.
func attached(s *Step, r tools.Result) []Attachment {
	var out []Attachment
	if t := r.Table; t != nil && len(t.Rows) > 0 {
		if content := tableBytes(*t); content != nil {
			out = append(out, Attachment{Step: s.N, Name: s.Tool, MIME: TableMIME, Content: content})
		}
	}
	for _, f := range r.Files[:min(len(r.Files), maxFiles)] {
		if len(f.Bytes) > 0 && len(f.Bytes) <= maxFileBytes {
			out = append(out, Attachment{Step: s.N, Name: f.Name, MIME: f.MIME, Content: f.Bytes})
		}
	}
	return out
}

func tableBytes(t tools.Table) []byte {
	for len(t.Rows) > 0 {
		b, err := json.Marshal(t)
		if err != nil {
			return nil
		}
		if len(b) <= maxTableBytes {
			return b
		}
		t.Rows, t.More = t.Rows[:len(t.Rows)*maxTableBytes/len(b)*9/10], true
	}
	return nil
}
