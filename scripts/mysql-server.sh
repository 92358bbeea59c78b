#!/usr/bin/env bash
# Prints a program that runs MySQL's server, fetching it first where it must. The
# stable releases of Debian have MariaDB in its place, so it comes from unstable,
# with the libraries that it needs, unpacked without installing anything:
#
#   ZKR_MYSQLD=$(scripts/mysql-server.sh) go test -C integration ./fence
#
# Unstable is another one every day, so the tests run on MariaDB unless they are
# told.
set -euo pipefail

target=/var/tmp/zkrecipes-mysql # where an unprivileged server can read it
program=$target/mysqld
mkdir -p "$target"
exec 9>"$target/lock"
flock 9
if [[ ! -x $program ]]; then
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  # shellcheck disable=SC1091 # every Debian has it
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  # The mirror is the one that this machine uses for its own release. The fields
  # are apt's, not the shell's.
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
    awk -F'|' -v r="$codename" '$2 == r && $3 == "main" && !n++ { print $1 }')
  [[ -n $mirror ]] || { echo "$0: no Debian mirror among this machine's apt sources" >&2; exit 1; }
  apt=$(mktemp -d)
  trap 'rm -rf "$apt"' EXIT
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,parts,debs}
  printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nSigned-By: %s\n' "$mirror" "$keys" >"$apt/parts/sid.sources"
  options=(-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/parts"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Retries=3
    -o APT::Sandbox::User= -o Debug::NoLocking=true)
  apt-get "${options[@]}" update >&2
  mapfile -t needs < <(apt-cache "${options[@]:1}" depends mysql-server-core | awk '/Depends: lib/ { print $2 }')
  (cd "$apt/debs" && apt-get "${options[@]}" download mysql-server-core "${needs[@]}" >&2)
  for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$target/root"; done
  # It has a C library of its own, newer than this machine's.
  lib=$target/root/usr/lib/x86_64-linux-gnu
  printf '#!/bin/sh\nexec %s --library-path %s %s "$@" --basedir=%s\n' \
    "$lib/ld-linux-x86-64.so.2" "$lib" "$target/root/usr/sbin/mysqld" "$target/root/usr" >"$program"
  chmod -R a+rX "$target"
  chmod a+x "$program"
fi
echo "$program"
