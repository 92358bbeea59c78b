#!/usr/bin/env bash
# Runs the tests of all modules; see make help for the ways to call it.
#
#   ZKR_STORM=small|full   the size of the storms
#   ZKR_SEED=NUMBER        the only seed of the library's own, as one that failed says
#   ZKR_REPORTS=FOLDER     where they write their reports when full; docs/proof
#   ZK_SERVERS, ZK_PROVIDER, ZK_IMAGE, ZK_HOME, ZK_VERSION
#                          the servers; see integration/zkserver
#   ZKR_TIMEOUT            bounds each package's tests; 12m
#   GOTESTFLAGS            further flags of go test
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh

export ZKR_STORM=${ZKR_STORM:-small}
ZKR_NOTES=$(mktemp)
export ZKR_NOTES
trap 'rm -f "$ZKR_NOTES"' EXIT

if [[ -z ${ZK_SERVERS:-}${ZK_PROVIDER:-} ]] && ! timeout 10 docker info >/dev/null 2>&1; then
  export ZK_PROVIDER=local
  echo "no Docker engine answers: servers run as local Java processes" | tee -a "$ZKR_NOTES"
fi

failed=
# module NAME FOLDER FLAGS… tests one module and prints how long it took.
module() {
  local name=$1 folder=$2 begin=$SECONDS
  shift 2
  echo "== $name"
  # shellcheck disable=SC2086 # several flags
  (cd "$folder" && go test -race -shuffle=on "$@" ${GOTESTFLAGS:-} ./...) || failed+=" $name"
  echo "== $name: $((SECONDS - begin)) s"
}
module library . -timeout "${ZKR_TIMEOUT:-12m}"
module promzkr promzkr -timeout "${ZKR_TIMEOUT:-12m}"
module otelzkr otelzkr -timeout "${ZKR_TIMEOUT:-12m}"
# One package at a time: their servers and timings would disturb each other.
module integration integration -p 1 -timeout "${ZKR_TIMEOUT:-12m}"

if [[ -s $ZKR_NOTES ]]; then
  echo "== notes"
  sort -u "$ZKR_NOTES"
fi
echo "== total: $SECONDS s"
if [[ -n $failed ]]; then
  echo "FAILED:$failed"
  exit 1
fi
