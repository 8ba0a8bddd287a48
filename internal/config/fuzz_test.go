package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"countersign/internal/config"
)

// FuzzParse holds the reader to its promises for any file: no panic, a place in
// every problem, and what it accepts passes its own checks again.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(example)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	for _, c := range refusals {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") {
			return // would read files of this machine
		}
		c, err := config.Parse("f.yaml", []byte(text), environment(nil))
		if err == nil {
			if again := c.Check(); again != nil {
				t.Fatalf("accepted, then refused: %v", again)
			}
			return
		}
		var problems config.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("error of another kind: %v", err)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Text == "" {
				t.Fatalf("problem without a place: %#v", p)
			}
		}
	})
}
