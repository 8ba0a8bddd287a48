package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test is a Go program itself: its own bill names what it was built of.
func TestBill(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var one, two bytes.Buffer
	if err := run(program, "1700000000", &one); err != nil {
		t.Fatal(err)
	}
	if err := run(program, "1700000000", &two); err != nil || one.String() != two.String() {
		t.Errorf("two bills of one program differ, %v", err)
	}
	var b bill
	if err := json.Unmarshal(one.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	main := b.Metadata.Component
	if b.Format != "CycloneDX" || b.Metadata.Timestamp != "2023-11-14T22:13:20Z" || main.Name != "countersign" || len(main.Hashes[0].Content) != 64 {
		t.Errorf("%+v", b.Metadata)
	}
	if len(b.Dependencies) != 1 || len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("dependencies %+v", b.Dependencies)
	}
}

func TestComponents(t *testing.T) {
	t.Parallel()
	b := billOf(&debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Path: "countersign", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}},
		Deps: []*debug.Module{
			{Path: "example.org/z", Version: "v2.0.0", Sum: "h1:z="},
			{Path: "example.org/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v1.0.1"}},
		},
	}, [32]byte{1})
	want := []component{
		{Ref: "pkg:golang/example.org/fork@v1.0.1", Type: "library", Name: "example.org/fork", Version: "v1.0.1", PURL: "pkg:golang/example.org/fork@v1.0.1"},
		{
			Ref: "pkg:golang/example.org/z@v2.0.0", Type: "library", Name: "example.org/z", Version: "v2.0.0", PURL: "pkg:golang/example.org/z@v2.0.0",
			Properties: []property{{Name: "go:sum", Value: "h1:z="}},
		},
		{Ref: "pkg:golang/std@go1.26.1", Type: "library", Name: "std", Version: "go1.26.1", PURL: "pkg:golang/std@go1.26.1"},
	}
	if diff := cmp.Diff(want, b.Components); diff != "" {
		t.Error(diff)
	}
	if b.Metadata.Component.PURL != "pkg:golang/countersign@v1.2.3" || b.Metadata.Properties[0].Value != "abc" {
		t.Errorf("%+v", b.Metadata)
	}
}

func TestNoProgram(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, file := range []string{"main.go", "absent"} {
		if err := run(file, "", &out); err == nil {
			t.Errorf("%s has a bill", file)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := run(program, "today", &out); err == nil {
		t.Error("today is no number")
	}
}
