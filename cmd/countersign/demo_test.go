package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever reaches the page can be anybody in it, so others must not reach it.
func TestDemoStaysOnLoopback(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:8765", ":8765", "[::]:0", "192.0.2.1:80", "example.com:80"} {
		dir := filepath.Join(t.TempDir(), "demo")
		bare(t, "", nil).fails("The demo listens on loopback alone, not on "+addr, "demo", "--dir", dir, "--addr", addr)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the folder was made: %v", addr, err)
		}
	}
	bare(t, "", nil).fails("--think takes a time from 0s", "demo", "--dir", filepath.Join(t.TempDir(), "demo"), "--think=-5s")
	bare(t, "", nil).fails("--addr takes HOST:PORT", "demo", "--dir", filepath.Join(t.TempDir(), "demo"), "--addr", "8765")
}

// A folder of somebody else's is neither emptied nor written to, nor marked as a demo's,
// so that a later --fresh does not empty it either.
func TestDemoLeavesForeignFoldersAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--fresh"}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("years of work"), 0o600); err != nil {
			t.Fatal(err)
		}
		bare(t, "", nil).fails("was not made by the demo", append([]string{"demo", "--dir", dir, "--addr", "127.0.0.1:0"}, args...)...)
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != "thesis.txt" {
			t.Errorf("%v: %v, %v", args, entries, err)
		}
	}
}
