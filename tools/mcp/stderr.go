package mcp

import (
	"bytes"
	"log/slog"
	"sync"
)

// Bounds of what a program's standard error adds to our log.
const (
	maxLine  = 400     // runes of one line
	maxLines = 500     // of one process
	maxHeld  = 4 << 10 // bytes of a line that has not ended
)

// stderrLog writes a program's standard error to the log, at debug level and bounded.
type stderrLog struct {
	log    *slog.Logger
	masked masker

	mu    sync.Mutex
	held  []byte
	lines int
}

// Write implements io.Writer and never fails: a full log must not break the program.
func (l *stderrLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		l.held = append(l.held, line[:min(len(line), maxHeld-len(l.held))]...)
		if ended {
			l.flush()
		}
		rest = after
	}
	return len(p), nil
}

func (l *stderrLog) flush() {
	text := l.masked.mask(oneLine(string(l.held), maxLine))
	l.held = l.held[:0]
	if text == "" {
		return
	}
	switch l.lines++; {
	case l.lines <= maxLines:
		l.log.Debug("an MCP server wrote to its standard error", "line", text)
	case l.lines == maxLines+1:
		l.log.Debug("an MCP server writes much to its standard error; the rest is left out", "lines", maxLines)
	}
}
