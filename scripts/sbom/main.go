// Command sbom prints the software bill of materials of a Go program: what the
// compiler recorded in it, as CycloneDX 1.5 JSON. The same program gives the same
// bytes.
//
//	go run ./scripts/sbom PROGRAM
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the bill of a program; epoch is its time in seconds since 1970, empty:
// the bill bears no time.
func run(program, epoch string, out io.Writer) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b := billOf(info, sha256.Sum256(data))
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		b.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// bill is a CycloneDX document, as far as we fill it.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp  string     `json:"timestamp,omitempty"`
	Component  component  `json:"component"`
	Properties []property `json:"properties,omitempty"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func billOf(info *debug.BuildInfo, sum [sha256.Size]byte) bill {
	main := module(&info.Main)
	main.Type = "application"
	main.Hashes = []hash{{Algorithm: "SHA-256", Content: hex.EncodeToString(sum[:])}}
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{Component: main}}
	for _, s := range info.Settings {
		b.Metadata.Properties = append(b.Metadata.Properties, property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	standard := component{
		Ref: "pkg:golang/std@" + info.GoVersion, Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion,
	}
	b.Components = []component{standard}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module(m))
	}
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Ref, y.Ref) })
	all := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b
}

func module(m *debug.Module) component {
	purl := "pkg:golang/" + m.Path
	if m.Version != "" {
		purl += "@" + m.Version
	}
	c := component{Ref: purl, Type: "library", Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" { // Go's own sum over a module's files; it is no sum of one file
		c.Properties = []property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}
