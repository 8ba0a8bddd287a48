//go:build unix

package main

import (
	"bytes"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/internal/apptest"
)

// buffer is a log that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps it.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) has(part string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.text.String(), part)
}

// A signal has the file and the files of its secrets read again; what is wrong is
// named, and changes nothing. It is sent to this process: no other test here may
// listen for it.
func TestTheSignalReadsAgain(t *testing.T) {
	d := sit(t, apptest.Start(t, apptest.Options{}))
	key := filepath.Join(t.TempDir(), "key")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(key, "first-secret")
	delete(d.env, "OPENAI_API_KEY")
	d.write(d.text + "model: {api_key: \"file:" + key + "\"}\n")
	log := &buffer{}
	e := &env{
		host: host{lookup: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }, now: d.now},
		cli:  &cli{Config: d.file}, ctx: t.Context(), log: slog.New(slog.NewTextHandler(log, nil)),
	}
	e.reload(t.Context(), d.Newest()) // the key comes from the file now
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGHUP) // until the listener below is there, the signal must not end this process
	defer signal.Stop(ignored)
	go e.obey(t.Context(), d.Newest())
	hup := func(want string) {
		t.Helper()
		d.Until(want, func() bool {
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			return log.has(want)
		})
	}
	put(d.file, d.text+"limit: {max_steps: 3}\n")
	hup("the old one stands")
	put(d.file, d.text)
	put(key, "second-secret")
	d.Until("the change in the record", func() bool {
		hup("setting=model.api_key")
		return strings.Count(d.must("audit", "export"), "config.reloaded") >= 2 // a signal may come while the key is half written
	})
	if log.has("-secret") || strings.Contains(d.must("audit", "export"), "-secret") {
		t.Error("a secret is logged or recorded")
	}
}
