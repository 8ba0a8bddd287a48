#!/usr/bin/env bash
# Builds a release into dist/: for every platform a static program in an archive, its
# bill of materials, the checksums of all, and what the image is packed of. The same
# commit and the same Go give the same bytes, wherever it is built.
#
#   scripts/release.sh VERSION [GOOS/GOARCH …]
#   scripts/release.sh --check VERSION [GOOS/GOARCH]    # build twice, compare
#
#   ALLOW_DIRTY=1       also from a tree with changes; the version says so then
#   CA_CERTIFICATES     the certificate authorities of the image
#                       (default /etc/ssl/certs/ca-certificates.crt)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { printf 'scripts/release.sh: %s\n' "$*" >&2; exit 1; }

main() {
  local check=no
  if [ "${1:-}" = --check ]; then check=yes; shift; fi
  version=${1:-}
  [[ "$version" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "give a version like v1.2.3"
  shift
  if [ -n "$(git status --porcelain)" ]; then
    [ "${ALLOW_DIRTY:-}" = 1 ] || fail "the tree has changes: commit them first"
    version=$version+dirty
  fi
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  export LC_ALL=C TZ=UTC CGO_ENABLED=0
  if [ "$check" = yes ]; then
    reproduce "${1:-$(go env GOOS)/$(go env GOARCH)}"
    return
  fi
  [ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/arm64 darwin/amd64
  rm -rf dist
  mkdir dist
  local platform
  for platform in "$@"; do release "$platform"; done
  lay_out_image
  (cd dist && sha256sum -- *.tar.gz *.cdx.json > SHA256SUMS)
  cat dist/SHA256SUMS
}

# build FOLDER PLATFORM OUT: no path of this machine, no time and no chance get in.
build() {
  (cd "$1" && GOOS=${2%/*} GOARCH=${2#*/} GOFLAGS="" go build -trimpath -buildvcs=true \
    -ldflags "-s -w -buildid= -X main.version=$version" -o "$3" ./cmd/countersign)
}

release() {
  local name=countersign_${version}_${1%/*}_${1#*/}
  local stage
  stage=$(mktemp -d)
  build . "$1" "$stage/countersign"
  cp LICENSE CHANGELOG.md "$stage/"
  cp -r deploy/systemd/countersign.service deploy/countersign.example.yaml "$stage/"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$stage" -cf - . | gzip -n -9 > "dist/$name.tar.gz"
  GOFLAGS="" go run ./scripts/sbom "$stage/countersign" > "dist/$name.cdx.json"
  if [ "$1" = "linux/$(go env GOARCH)" ]; then cp "$stage/countersign" dist/.program; fi
  rm -rf "$stage"
}

# lay_out_image gives the folders that deploy/Dockerfile's target "prebuilt" packs.
lay_out_image() {
  [ -f dist/.program ] || return 0
  local authorities=${CA_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}
  [ -r "$authorities" ] || fail "$authorities is missing: set CA_CERTIFICATES"
  mkdir -p dist/image/root/etc/ssl/certs dist/image/state/data
  install -m 0555 dist/.program dist/image/root/countersign
  install -m 0444 "$authorities" dist/image/root/etc/ssl/certs/ca-certificates.crt
  find dist/image -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  rm dist/.program
}

# reproduce builds here and in a clone elsewhere, and compares.
reproduce() {
  local other
  other=$(mktemp -d)
  git clone -q --no-hardlinks . "$other/elsewhere"
  build "$other/elsewhere" "$1" "$other/two"
  git clone -q --no-hardlinks "$other/elsewhere" "$other/a/place/with/another/name" # of it, not of here: this may have moved on
  build "$other/a/place/with/another/name" "$1" "$other/one"
  cmp "$other/one" "$other/two" || fail "two builds of $version differ"
  sha256sum "$other/one"
  echo "two builds of $version for $1 are the same"
  rm -rf "$other"
}

main "$@"
