#!/usr/bin/env bash
# Makes a Docker image of ZooKeeper 3.8 or 3.9 without any registry, out of this
# machine's own files, and prints its name:
#
#   scripts/zookeeper-image.sh 3.8|3.9
#
# It holds a shell and a few commands, the JDK without its jmods, the libraries
# that these name, and the jars of scripts/zookeeper-jars.sh; like the official
# image it starts a server by `zkServer.sh start-foreground CONFIG` and takes
# the Java flags from SERVER_JVMFLAGS. An image that exists is left alone.
set -euo pipefail

version=${1:?usage: $0 3.8|3.9}
here=$(cd "$(dirname "$0")" && pwd)
jars=$("$here/zookeeper-jars.sh" "$version" | tail -n 1)
java=$(readlink -f "$(command -v java)")
home=${java%/bin/java}

# The name tells what the image was made of, so that another JDK or other
# packages make another image.
stamp=$( { cat "$jars/FROM" "$here/zookeeper-image.sh"; "$java" -version 2>&1; } | sha256sum | cut -c1-12)
name=zkrecipes/zookeeper:$version-$stamp

exec 9>"${jars%/*}/image-$version.lock"
flock 9 # test binaries of several packages may come here at once
if ! docker image inspect "$name" >/dev/null 2>&1; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  mkdir -p "$root"/{bin,tmp,etc,opt/zookeeper}
  chmod 755 "$root" # servers run as the user of the tests
  chmod 1777 "$root/tmp"
  echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"

  cp -L /bin/sh "$root/bin/sh"
  for tool in cat ls kill; do
    if path=$(type -P "$tool"); then cp -L "$path" "$root/bin/$tool"; fi
  done
  mkdir -p "$root$(dirname "$home")"
  tar -C "$(dirname "$home")" --exclude=jmods -cf - "$(basename "$home")" | tar -C "$root$(dirname "$home")" -xf -
  # The JDK's configuration is links into /etc.
  find "$root$home" -type l | while read -r link; do
    target=$(readlink "$link")
    if [[ $target == /* && -e $target && ! -e $root$target ]]; then
      mkdir -p "$root$(dirname "$target")"
      cp -rL "$target" "$root$target"
    fi
  done
  cp -L "$jars"/*.jar "$root/opt/zookeeper/"

  # The loader and every library that a program or library of the image names.
  find "$root/bin" "$root$home" -type f \( -perm -u+x -o -name '*.so*' \) -print0 |
    xargs -0 -n 50 ldd 2>/dev/null | grep -o '/[^ )]*' | sort -u |
    while read -r library; do
      library=${library%:}
      case $library in "$root"*) continue ;; esac
      if [[ -f $library && ! -e $root$library ]]; then
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
      fi
    done

  # ZooKeeper's own jar comes last: its manifest would pull in, before what
  # follows it, whatever lies in /usr/share/java.
  cat >"$root/bin/zkServer.sh" <<SCRIPT
#!/bin/sh
if [ "\$1" != start-foreground ]; then echo "usage: zkServer.sh start-foreground CONFIG" >&2; exit 2; fi
path=
for jar in /opt/zookeeper/*.jar; do
  case \$jar in */zookeeper.jar) ;; *) path=\$path\$jar: ;; esac
done
exec $home/bin/java \$SERVER_JVMFLAGS -cp "\${path}/opt/zookeeper/zookeeper.jar" \\
  org.apache.zookeeper.server.quorum.QuorumPeerMain "\$2"
SCRIPT
  chmod +x "$root/bin/zkServer.sh"
  tar -C "$root" -cf - . | docker import --change 'ENV PATH=/bin' --change 'CMD ["zkServer.sh"]' - "$name" >/dev/null
fi
echo "$name"
