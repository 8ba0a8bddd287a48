#!/usr/bin/env bash
# Writes every generated file anew: each belongs to a test that compares it and
# takes -update. A package joins by declaring that flag in its tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files '*_test.go' | xargs grep -lE 'flag\.Bool\("update"' | xargs -rn1 dirname | sort -u |
  while IFS= read -r folder; do
    echo "== $folder"
    go test -count=1 "./$folder" -update
  done
