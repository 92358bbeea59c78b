#!/usr/bin/env bash
# Runs every fuzz test of the library, one after another, each for FUZZTIME on
# FUZZWORKERS processors. What fails is kept in the package's testdata/fuzz, where
# each go test runs it from then on: it is to be committed along with its remedy.
set -euo pipefail
cd "$(dirname "$0")/.."

# fuzz PACKAGE NAME runs one of them.
fuzz() {
  echo "== $1 $2"
  # What is of interest for its coverage alone needs not be made as small as can be.
  go test -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 5s -timeout 0 \
    -parallel "${FUZZWORKERS:-1}" "$1" | tee "$out" && return
  # Before Go 1.27 the end of the time is told as a failure now and then
  # (https://go.dev/issue/75804). Nothing has failed then.
  [[ $(grep -A1 '^--- FAIL' "$out") == *$'\n    context deadline exceeded' ]]
}

out=$(mktemp)
trap 'rm -f "$out"' EXIT
listed=$(go test -list '^Fuzz' ./...)
failed=
names=()
while read -r word package _; do
  case $word in
    Fuzz*) names+=("$word") ;;
    ok)
      for name in "${names[@]}"; do
        fuzz "$package" "$name" || failed+=" $name"
      done
      names=()
      ;;
  esac
done <<<"$listed"

if [[ -n $failed ]]; then
  echo "FAILED:$failed"
  exit 1
fi
