#!/usr/bin/env bash
# Checks what a release depends on, beside the tests: that two builds of the last
# commit, in two folders and with nothing in common, give the same bytes; that the
# API has not lost what the last tag promised; that CHANGELOG.md tells of changes.
#
#   PLATFORMS   to build for; linux/amd64
set -euo pipefail
cd "$(dirname "$0")/.."

APIDIFF=golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4
module=github.com/zkrecipes/zkrecipes
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

export PLATFORMS=${PLATFORMS:-linux/amd64}
echo "== the same bytes twice"
for n in one another/place; do
  git clone -q --no-hardlinks . "$work/$n"
  GOCACHE=$work/cache-${n%%/*} "$work/$n/scripts/dist.sh" "$work/$n/dist" >/dev/null
done
diff "$work/one/dist/SHA256SUMS" "$work/another/place/dist/SHA256SUMS"
cat "$work/one/dist/SHA256SUMS"

echo "== the API"
# The tag before this commit, which may have one of its own by now.
if tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null); then
  git clone -q --branch "$tag" . "$work/tag" 2>/dev/null
  (cd "$work/tag" && go run "$APIDIFF" -m -w "$work/api" $module)
  go run "$APIDIFF" -m "$work/api" $module | tee "$work/changes"
  # Before 1.0.0 a minor version may break; it has to say so all the same.
  if grep -q '^Incompatible changes:' "$work/changes" && [[ $tag != v0.* ]]; then
    echo "release-check: not compatible with $tag: this is a new major version" >&2
    exit 1
  fi
else
  echo "=================================================================="
  echo "NOTE: there is no tag yet, so there is no API to be compatible with."
  echo "=================================================================="
fi

echo "== the changelog"
# It begins with what this commit is released as, or is going to be.
newest=$(sed -En '/^## /{s/^## \[?([^] ]+).*/\1/p;q}' CHANGELOG.md)
here=$(git tag --points-at HEAD --list 'v[0-9]*')
if [[ -n $here ]]; then
  told=$([[ v$newest == "$here" ]] && echo yes || true)
else # what has a tag already is another commit's
  told=$(git rev-parse -q --verify "refs/tags/v$newest" >/dev/null || echo yes)
fi
if [[ -z $told ]]; then
  echo "release-check: CHANGELOG.md begins with $newest, and says nothing of ${here:-what has come since}" >&2
  exit 1
fi
