#!/usr/bin/env bash
# Runs every fuzz test of the library, one after another, each for FUZZTIME on
# FUZZWORKERS processors. What fails is kept in the package's testdata/fuzz, where
# each go test runs it from then on: it is to be committed along with its remedy.
set -euo pipefail
cd "$(dirname "$0")/.."

listed=$(go test -list '^Fuzz' ./...)
failed=
names=()
while read -r word package _; do
  case $word in
    Fuzz*) names+=("$word") ;;
    ok)
      for name in "${names[@]}"; do
        echo "== $package $name"
        # What is only of interest for its coverage needs not be made as small as can be.
        go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 5s \
          -parallel "${FUZZWORKERS:-1}" "$package" || failed+=" $name"
      done
      names=()
      ;;
  esac
done <<<"$listed"

if [[ -n $failed ]]; then
  echo "FAILED:$failed"
  exit 1
fi
