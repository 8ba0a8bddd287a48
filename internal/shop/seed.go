package shop

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// files are the demo's documents and data as they are at first.
//
//go:embed files
var files embed.FS

// Seed writes the demo's documents (docs/) and data (data/) into a folder, unless
// that part is there already: what was deleted or changed stays so.
func Seed(dir string) error {
	parts, err := files.ReadDir("files")
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	for _, part := range parts {
		if err := seedPart(dir, part.Name()); err != nil {
			return fmt.Errorf("seed %s: %w", part.Name(), err)
		}
	}
	return nil
}

// seedPart writes one folder under a temporary name first, so that a crash leaves no half of it.
func seedPart(dir, name string) error {
	target := filepath.Join(dir, name)
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part, err := fs.Sub(files, "files/"+name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	half, err := os.MkdirTemp(dir, "."+name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(half)
	if err := copyFiles(part, half); err != nil {
		return err
	}
	return os.Rename(half, target)
}

// copyFiles writes the files of a folder that has no folders in it.
func copyFiles(from fs.FS, dir string) error {
	entries, err := fs.ReadDir(from, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(from, entry.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
