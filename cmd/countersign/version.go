package main

import (
	"fmt"
	"runtime/debug"
)

// version is set by the release build (-X main.version).
var version = "0.1.0-dev"

type versionCmd struct{}

// Run prints the version and what it was built from.
func (*versionCmd) Run(e *env) error {
	revision, compiler := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
		compiler = " " + info.GoVersion
	}
	_, err := fmt.Fprintf(e.out, "countersign %s%s%s\n", version, revision, compiler)
	return err
}
