package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/apptest"
)

// With the configuration of the README, and an id and a folder of one's own, the doctor
// finds nothing broken, and says what is missing before.
func TestReadmeSetsUp(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(readme), "```yaml\n")
	text, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the README has no configuration")
	}
	d := healthy(t, apptest.Options{Model: attentive()})
	folder := filepath.Join(d.Dir, "runbooks")
	d.write(strings.Replace(text, "./runbooks", folder, 1))
	if p := d.run("doctor"); p.code == 0 || !strings.Contains(p.out, "There is no user group S0123456789") {
		t.Errorf("exit code %d\n%s", p.code, p.out)
	}
	if out := d.must("ids", "managers"); !strings.Contains(out, "S0MGR") {
		t.Error(out)
	}
	d.write(strings.Replace(d.text, "S0123456789", "S0MGR", 1))
	d.folder("runbooks")
	out := d.must("doctor")
	if strings.Contains(out, "broken ") || !strings.Contains(out, "2 people can countersign") || !strings.Contains(out, folder+" can be read") {
		t.Error(out)
	}
}
