#!/usr/bin/env bash
# Installs what the tests need beyond Go and is missing: on Debian, as root,
# from its packages. Elsewhere it says what is missing, and the tests that need
# it are skipped.
#
# Needed: a C compiler (race detector), a JDK, ZooKeeper, Curator and kazoo (the
# peers that share our locks), databases to guard, and a Docker engine that
# answers. Where no engine
# can be started, servers run as local Java processes.
set -euo pipefail

say() { echo "install-deps: $*" >&2; }

# Debian's package, and a command or file that shows that it is there.
wanted=(
  "gcc gcc"
  "libc6-dev /usr/include/stdlib.h"
  "default-jdk-headless javac"
  "libzookeeper-java /usr/share/java/zookeeper.jar"
  "libcurator-recipes-java /usr/share/java/curator-recipes.jar"
  "python3-kazoo /usr/lib/python3/dist-packages/kazoo"
)
# Further ones are named beside the tests that need them.
cd "$(dirname "$0")/.."
for list in integration/*/packages.txt; do
  mapfile -t -O ${#wanted[@]} wanted <"$list"
done

engine_answers() { timeout 10 docker info >/dev/null 2>&1; }
# Only a machine without any engine gets one; a dead remote one is left alone.
if [[ -z ${DOCKER_HOST:-} ]] && ! engine_answers; then
  wanted+=("docker.io dockerd")
fi

missing=()
for entry in "${wanted[@]}"; do
  read -r package sign <<<"$entry"
  case $sign in
    /*) [[ -e $sign ]] || missing+=("$package") ;;
    *) command -v "$sign" >/dev/null || missing+=("$package") ;;
  esac
done

if ((${#missing[@]})); then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    say "not root on Debian, so nothing is installed. Missing, by the names of Debian's packages: ${missing[*]}"
    say "tests that need them are skipped (and fail where CI is set)"
    exit 0
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # From trixie on the engine's command line is a package of its own.
  if [[ " ${missing[*]} " == *" docker.io "* ]] && apt-cache show docker-cli >/dev/null 2>&1; then
    missing+=(docker-cli)
  fi
  # Its servers are started by the tests, on data of their own.
  if [[ " ${missing[*]} " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  fi
  apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}" >/dev/null
fi

# Debian starts the engine where something like systemd runs; a container needs
# it started by hand, and not every container may.
if [[ -z ${DOCKER_HOST:-} && $(id -u) == 0 ]] && command -v dockerd >/dev/null && ! engine_answers; then
  say "starting the Docker engine"
  log=$(mktemp -t dockerd.XXXXXX)
  setsid nohup dockerd >"$log" 2>&1 </dev/null &
  for _ in $(seq 60); do
    if engine_answers; then break; fi
    kill -0 $! 2>/dev/null || break
    sleep 0.5
  done
  engine_answers || say "it does not start here: $(tail -n 1 "$log")"
fi
