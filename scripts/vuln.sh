#!/usr/bin/env bash
# Looks for known vulnerabilities that the code of each module reaches, by
# govulncheck and the Go team's database. Where that cannot be reached it says so
# loudly and succeeds: nothing was looked for then. VULN_REQUIRED=1 makes it fail.
#
#   scripts/vuln.sh MODULE…
set -uo pipefail
cd "$(dirname "$0")/.."

GOVULNCHECK=golang.org/x/vuln/cmd/govulncheck@v1.9.0
database=${GOVULNDB:-https://vuln.go.dev}
failed=

skip() {
  echo "=================================================================="
  echo "SKIPPED: no vulnerability was looked for: $1"
  echo "=================================================================="
  if [[ -n ${VULN_REQUIRED:-} ]]; then exit 1; fi
  exit 0
}

for module in "$@"; do
  echo "-- $module"
  out=$(cd "$module" && go run "$GOVULNCHECK" -db "$database" ./... 2>&1)
  code=$?
  case $out in
    *"Vulnerability #"*) ;; # found, whatever its description has in common with the next ones
    *"fetching vulnerabilities:"* | *"no such host"* | *"dial tcp"*) skip "$database cannot be reached ($(tail -n 2 <<<"$out" | head -n 1))" ;;
  esac
  echo "$out"
  if ((code)); then failed+=" $module"; fi
done
if [[ -n $failed ]]; then
  echo "vulnerable, or not looked at:$failed" >&2
  exit 1
fi
