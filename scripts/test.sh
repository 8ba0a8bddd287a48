#!/usr/bin/env bash
# Runs every test. Needs Go, npm and Node 20 or newer; Postgres and Chromium are
# taken from the environment or the system, else installed with apt-get where
# that is possible; so are a container engine and Prometheus. Whatever is missing in the
# end stops the run with a sentence: no test is left out in silence. What is held against
# Helm, Compose, Kubernetes' types and an OpenTelemetry Collector is left to make checkers,
# since building these takes minutes the first time.
#
#   scripts/test.sh [flags for go test]
#
#   TEST_DATABASE_URL   a Postgres server to use, instead of one started here
#   CHROMIUM            a browser to use, instead of one found here
#   PACKAGES            the packages to test, instead of all of them
#   COUNTERSIGN_CHECKERS
#                       a folder: these are built into it from deploy/checkers, and asked
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { printf 'scripts/test.sh: %s\n' "$*" >&2; exit 1; }

main() {
  need_tools
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  find_chromium
  find_engine
  find_prometheus
  build_checkers
  install_node_packages
  start_postgres
  run_tests "$@"
}

need_tools() {
  command -v go >/dev/null || fail "Go is missing; see https://go.dev/dl/"
  command -v node >/dev/null || fail "Node is missing; version 20 or newer is needed"
  command -v npm >/dev/null || fail "npm is missing"
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "Node $major is too old; version 20 or newer is needed"
}

# as_root runs a command with root's rights, or says that it cannot.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

# install_package NAME WHAT: WHAT is what to say when it cannot be installed.
install_package() {
  command -v apt-get >/dev/null || fail "$2"
  as_root true || fail "$2 (or run this as root, and it installs $1 itself)"
  say "installing $1 with apt-get"
  forbid_services
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || fail "apt-get update failed; $2"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >&2 ||
    fail "apt-get install $1 failed; $2"
  allow_services
}

# A package's own service must not start: the tests bring up their own.
policy=/usr/sbin/policy-rc.d
policy_is_ours=no
forbid_services() {
  [ -e "$policy" ] && return
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  policy_is_ours=yes
}
allow_services() {
  [ "$policy_is_ours" = yes ] || return 0
  as_root rm -f "$policy"
  policy_is_ours=no
}

find_chromium() {
  if [ -z "${CHROMIUM:-}" ]; then
    CHROMIUM=$(browser_path) || {
      install_package chromium "no Chromium was found: install it, or set CHROMIUM to a browser's path"
      CHROMIUM=$(browser_path) || fail "Chromium is installed but not in PATH; set CHROMIUM"
    }
  fi
  [ -x "$CHROMIUM" ] || fail "CHROMIUM names $CHROMIUM, which is no program"
  export CHROMIUM
  say "browser: $CHROMIUM"
}

browser_path() {
  local name
  for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" && return
  done
  name="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
  [ -x "$name" ] && echo "$name"
}

# The sandbox is tested in a real container engine, the metrics tool against a real
# Prometheus. runc comes first: without it apt brings a runtime that refuses hosts
# with both versions of control groups.
find_engine() {
  export COUNTERSIGN_SANDBOX=1
  [ -z "${TEST_CONTAINER_HOST:-}" ] || { say "containers: the engine of TEST_CONTAINER_HOST"; return; }
  [ "$(id -u)" = 0 ] || fail "the container tests need root, or TEST_CONTAINER_HOST=unix:///path of a running engine"
  command -v runc >/dev/null || install_package runc "install runc"
  command -v podman >/dev/null || install_package podman "install podman"
  dpkg -s busybox-static >/dev/null 2>&1 || install_package busybox-static "install busybox-static"
  say "containers: $(podman --version)"
}

find_prometheus() {
  export COUNTERSIGN_PROMETHEUS=1
  command -v prometheus >/dev/null || install_package prometheus "install prometheus, or put it into PATH"
}

# What the chart and the traces are held against; their versions are those of
# deploy/checkers/go.mod, and Go's own cache knows what is built already.
build_checkers() {
  [ -n "${COUNTERSIGN_CHECKERS:-}" ] || { say "checkers: left out; make checkers runs the tests that need them"; return; }
  mkdir -p "$COUNTERSIGN_CHECKERS" || fail "the folder $COUNTERSIGN_CHECKERS cannot be made; set COUNTERSIGN_CHECKERS to another"
  say "checkers: building what is not built yet into $COUNTERSIGN_CHECKERS"
  (cd deploy/checkers && GOFLAGS="" GOBIN=$COUNTERSIGN_CHECKERS CGO_ENABLED=0 go install ./collector ./compose ./kubernetes helm.sh/helm/v3/cmd/helm >&2) ||
    fail "Helm and the collector could not be built; Go must reach its module proxy"
}

# install_node_packages installs what each lock file pins, unless it is there already.
install_node_packages() {
  local lock folder
  while IFS= read -r lock; do
    folder=$(dirname "$lock")
    if cmp -s "$lock" "$folder/node_modules/.installed-lock"; then
      continue
    fi
    say "npm ci in $folder"
    (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error >&2) || fail "npm ci failed in $folder"
    cp "$lock" "$folder/node_modules/.installed-lock"
  done < <(find . -name package-lock.json -not -path '*/node_modules/*')
}

cluster=""
start_postgres() {
  if [ -n "${TEST_DATABASE_URL:-}" ]; then
    say "Postgres: the one of TEST_DATABASE_URL"
    return
  fi
  local bin port password
  bin=$(postgres_bin) || {
    install_package postgresql "no Postgres was found: install the server (initdb, pg_ctl), or set TEST_DATABASE_URL to a running one"
    bin=$(postgres_bin) || fail "Postgres is installed, but initdb is neither in /usr/lib/postgresql nor in PATH"
  }
  cluster=$(mktemp -d "${TMPDIR:-/tmp}/countersign-test.XXXXXX")
  password=$(node -p 'require("crypto").randomBytes(18).toString("hex")')
  printf '%s\n' "$password" >"$cluster/password"
  [ "$(id -u)" != 0 ] || chown -R "$(server_user)" "$cluster"
  as_server "$bin/initdb" -D "$cluster/data" -U countersign --auth=scram-sha-256 --pwfile="$cluster/password" \
    -E UTF8 --locale=C --no-sync >"$cluster.log" 2>&1 || fail_with_log "initdb failed"
  port=$(node -e 'const s = require("net").createServer(); s.listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
  # The tests kill our own processes, never Postgres: it need not sync to disk.
  as_server "$bin/pg_ctl" -D "$cluster/data" -w -t 60 -l "$cluster/server.log" \
    -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=300 -c fsync=off" \
    start >>"$cluster.log" 2>&1 || fail_with_log "Postgres did not start"
  postgres_programs=$bin
  export TEST_DATABASE_URL="postgres://countersign:$password@127.0.0.1:$port/postgres?sslmode=disable"
  say "Postgres: $("$bin/postgres" --version), started on port $port"
}

fail_with_log() {
  cat "$cluster.log" "$cluster/server.log" 2>/dev/null >&2 || true
  fail "$1"
}

# postgres_bin gives the folder of the newest server's programs.
postgres_bin() {
  local folder
  folder=$(find -L /usr/lib/postgresql /opt/homebrew/opt /usr/local/opt -maxdepth 2 -name bin -path '*postgres*' 2>/dev/null | sort -V | tail -n 1 || true)
  if [ -n "$folder" ] && [ -x "$folder/initdb" ]; then
    echo "$folder"
  elif command -v initdb >/dev/null; then
    dirname "$(command -v initdb)"
  else
    return 1
  fi
}

# Postgres refuses to run as root.
server_user() {
  if id postgres >/dev/null 2>&1; then echo postgres; else echo nobody; fi
}
as_server() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u "$(server_user)" -- "$@")
  else
    "$@"
  fi
}

postgres_programs=""
clean_up() {
  allow_services
  [ -n "$cluster" ] || return 0
  if [ -n "$postgres_programs" ]; then
    as_server "$postgres_programs/pg_ctl" -D "$cluster/data" -m immediate stop >/dev/null 2>&1 || true
  fi
  rm -rf "$cluster" "$cluster.log"
}

# run_tests prints what `go test` prints, and fails where a test was skipped.
run_tests() {
  local packages=(${PACKAGES:-./...}) # split at spaces on purpose
  say "go test $* ${packages[*]}"
  export COUNTERSIGN_BOLT=1 COUNTERSIGN_MCP=1 COUNTERSIGN_BROWSER=1 TEST_POSTGRES=require
  # The tests of the whole wait more than they work: more of them fit side by side, and
  # memory is cheaper than collecting it again and again. A package of them may take longer
  # than ten minutes where the machine does other things.
  GOGC=${GOGC:-400} go test -json -parallel 10 -timeout 40m "$@" "${packages[@]}" | node scripts/report.mjs
}

main "$@"
