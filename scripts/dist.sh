#!/usr/bin/env bash
# Builds what a release consists of, in the folder dist or the one that is named:
# zkr for each platform with its manual pages and completions, and SHA256SUMS.
# Two builds of one commit give the same bytes, wherever they are made. Needs GNU
# tar.
#
#   PLATFORMS   instead of all: "linux/amd64"
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-dist}
read -ra platforms <<<"${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}"

# Neither the folder, nor the C compiler, nor the environment gets into the binary.
# The go command stamps it with the tag and the commit.
export CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0
build() { go build -trimpath -buildvcs=true -ldflags=-s -o "$1" ./cmd/zkr; }

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build "$work/zkr"
version=$("$work/zkr" version | cut -d ' ' -f 2)
case $version in
  *dirty*) echo "dist: NOTE: the work tree differs from its commit, so this is no release: $version" >&2 ;;
esac
# What is the same on all platforms.
mkdir -p "$work/common/man" "$work/common/completion"
"$work/zkr" man "$work/common/man"
for shell in bash zsh fish; do "$work/zkr" completion $shell >"$work/common/completion/zkr.$shell"; done
cp LICENSE CHANGELOG.md "$work/common/"

for platform in "${platforms[@]}"; do
  name=zkr_${version#v}_${platform/\//_}
  mkdir "$work/$name"
  cp -r "$work/common/." "$work/$name/"
  exe=zkr
  if [[ $platform == windows/* ]]; then exe=zkr.exe; fi
  GOOS=${platform%/*} GOARCH=${platform#*/} build "$work/$name/$exe"
  tar -C "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
done
(cd "$out" && sha256sum -- *.tar.gz >SHA256SUMS)
cat "$out/SHA256SUMS"
