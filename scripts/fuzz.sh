#!/usr/bin/env bash
# Runs every fuzz target for a while: scripts/fuzz.sh [TIME]. New inputs that
# fail are kept by the go tool in the package's testdata/fuzz. Making inputs small gets a
# second each: with Go's minute, a target with large documents does nothing else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

time=${1:-60s}
found=0
while IFS=: read -r file name; do
  found=$((found + 1))
  echo "== $(dirname "$file") $name, $time"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1s "./$(dirname "$file")"
done < <(git ls-files '*_test.go' | xargs grep -oH '^func Fuzz[A-Za-z0-9_]*' | sed 's/:func /:/')
[ "$found" -gt 0 ] || { echo "scripts/fuzz.sh: no fuzz target found" >&2; exit 1; }
