#!/usr/bin/env bash
# Prints the folder that holds the jars of ZooKeeper 3.8 or 3.9, filling it first
# where it must: from the installed Debian packages when they are of that
# version, else from the packages of the Debian release that has it, unpacked
# without installing anything (root is not needed).
#
#   scripts/zookeeper-jars.sh 3.8|3.9
set -euo pipefail

version=${1:-}
case $version in
  3.8) release=bookworm ;;
  3.9) release=trixie ;;
  *) echo "usage: $0 3.8|3.9" >&2; exit 2 ;;
esac

packages=(libzookeeper-java libnetty-java libnetty-tcnative-java libslf4j-java
  libcommons-cli-java libcommons-io-java libdropwizard-metrics-java libsnappy-java)

# A server's own jars. Not all of /usr/share/java: several SLF4J bindings there
# exclude each other.
jars=(zookeeper zookeeper-jute slf4j-api slf4j-simple commons-cli commons-io
  metrics-core snappy-java netty-buffer netty-codec netty-common netty-handler
  netty-resolver netty-tcnative netty-transport netty-transport-native-epoll
  netty-transport-native-unix-common)

cache=${XDG_CACHE_HOME:-$HOME/.cache}/zkrecipes
target=$cache/zookeeper-$version
mkdir -p "$cache"
exec 9>"$cache/zookeeper-$version.lock"
flock 9 # test binaries of several packages may come here at once

installed() { dpkg-query -W -f '${Version}' libzookeeper-java 2>/dev/null || true; }

# from_packages fetches the release's packages and unpacks them below $1. Apt
# works in folders of its own, so that the machine's lists stay as they are.
from_packages() {
  local root=$1 apt=$1/apt keys=/usr/share/keyrings/debian-archive-keyring.gpg codename mirror
  # shellcheck disable=SC1091 # every Debian has it
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  # The mirror is the one that this machine uses for its own release. The fields
  # are apt's, not the shell's.
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
    awk -F'|' -v r="$codename" '$2 == r && $3 == "main" && !n++ { print $1 }')
  [[ -n $mirror ]] || { echo "$0: no Debian mirror among this machine's apt sources" >&2; exit 1; }
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,parts,debs}
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$mirror" "$release" >"$apt/parts/release.sources"
  [[ ! -e $keys ]] || printf 'Signed-By: %s\n' "$keys" >>"$apt/parts/release.sources"
  local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/parts"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Retries=3
    -o APT::Sandbox::User= -o Debug::NoLocking=true)
  apt-get "${options[@]}" update >&2
  (cd "$apt/debs" && apt-get "${options[@]}" download "${packages[@]}" >&2)
  for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$root"; done
}

# The mark says what the folder was filled from, so that an upgrade refills it.
have=$(installed)
case $have in
  "$version".*) mark=installed-$have ;;
  *) mark=packages-of-$release ;;
esac

if [[ $(cat "$target/FROM" 2>/dev/null) != "$mark" ]]; then
  work=$(mktemp -d "$cache/fill.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  case $mark in
    installed-*) source=/usr/share/java ;;
    *)
      from_packages "$work/root"
      source=$work/root/usr/share/java
      ;;
  esac
  mkdir "$work/jars"
  for jar in "${jars[@]}"; do
    if [[ -e $source/$jar.jar ]]; then cp -L "$source/$jar.jar" "$work/jars/"; fi
  done
  [[ -e $work/jars/zookeeper.jar && -e $work/jars/zookeeper-jute.jar ]] ||
    { echo "$0: the packages hold no ZooKeeper" >&2; exit 1; }
  echo "$mark" >"$work/jars/FROM"
  rm -rf "$target"
  mv "$work/jars" "$target"
fi
echo "$target"
