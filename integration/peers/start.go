package peers

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/notes"
	"github.com/zkrecipes/zkrecipes/integration/worker"
)

//go:embed CuratorPeer.java
var curatorSource []byte

//go:embed kazoo_peer.py
var kazooSource string

// jars is where Debian keeps Java's libraries.
const jars = "/usr/share/java"

// classPath is what Curator's recipes and ZooKeeper's command line need. The
// rest is named by the manifests of Debian's jars.
var classPath = []string{
	"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
	"guava", "slf4j-api", "slf4j-nop", "snappy-java", "metrics-core", "commons-cli", "jline",
}

// python is the interpreter that has Debian's packages.
const python = "/usr/bin/python3"

// Curator starts a peer that has Apache Curator's recipes.
func Curator(t testing.TB, connect string) *Peer {
	t.Helper()
	return CuratorFor(t, connect, SessionTimeout)
}

// CuratorFor is Curator with sessions of another timeout.
func CuratorFor(t testing.TB, connect string, timeout time.Duration) *Peer {
	t.Helper()
	classes, err := compile()
	if err != nil {
		giveUp(t, err)
	}
	return start(t, java(path()+":"+classes, "CuratorPeer", connect, fmt.Sprint(timeout.Milliseconds())))
}

// Kazoo starts a peer that has kazoo's recipes. Its locks take names with one
// of the patterns for contenders too, as its extra_lock_patterns say.
func Kazoo(t testing.TB, connect string, patterns ...string) *Peer {
	t.Helper()
	return KazooFor(t, connect, SessionTimeout, patterns...)
}

// KazooFor is Kazoo with sessions of another timeout.
func KazooFor(t testing.TB, connect string, timeout time.Duration, patterns ...string) *Peer {
	t.Helper()
	if err := exec.Command(python, "-c", "import kazoo").Run(); err != nil {
		giveUp(t, fmt.Errorf("peers: no kazoo (python3-kazoo) for %s: %w", python, err))
	}
	args := append([]string{"-c", kazooSource, connect, fmt.Sprint(timeout.Milliseconds())}, patterns...)
	return start(t, exec.Command(python, args...))
}

// KazooVersion returns the version of kazoo that peers have, as 2.8.0.
func KazooVersion(t testing.TB) string {
	t.Helper()
	out, err := exec.Command(python, "-c", "import kazoo.version; print(kazoo.version.__version__)").Output()
	if err != nil {
		giveUp(t, fmt.Errorf("peers: kazoo's version: %w", err))
	}
	return strings.TrimSpace(string(out))
}

// Library starts a peer that has the recipes of this library, with kazoo's names
// if args say "kazoo".
func Library(t testing.TB, connect string, timeout time.Duration, args ...string) *Peer {
	t.Helper()
	return start(t, goProgram(t, "library", connect, timeout, args...))
}

// GoZooKeeper starts a peer that has the lock of the client library.
func GoZooKeeper(t testing.TB, connect string, timeout time.Duration) *Peer {
	t.Helper()
	return start(t, goProgram(t, "gozookeeper", connect, timeout))
}

func goProgram(t testing.TB, name, connect string, timeout time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	bin := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/peers/internal/"+name)
	return exec.Command(bin, append([]string{connect, timeout.String()}, args...)...)
}

// CuratorProgram returns a program in Java that uses Apache Curator, of one file,
// which Java compiles itself.
func CuratorProgram(t testing.TB, source string, args ...string) *exec.Cmd {
	t.Helper()
	if err := installed("curator-recipes"); err != nil {
		giveUp(t, err)
	}
	return java(path(), source, args...)
}

// CLI returns ZooKeeper's command line client, which reads commands from its
// standard input.
func CLI(t testing.TB, connect string) *exec.Cmd {
	t.Helper()
	if err := installed("zookeeper", "commons-cli"); err != nil {
		giveUp(t, err)
	}
	return java(path(), "org.apache.zookeeper.ZooKeeperMain", "-server", connect)
}

// java starts fast rather than running fast.
func java(classPath, class string, args ...string) *exec.Cmd {
	flags := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath, class}
	return exec.Command("java", append(flags, args...)...)
}

func path() string {
	var all []string
	for _, jar := range classPath {
		all = append(all, filepath.Join(jars, jar+".jar"))
	}
	return strings.Join(all, ":")
}

// installed tells what is missing of Java and its libraries.
func installed(libraries ...string) error {
	_, err := exec.LookPath("java")
	for _, jar := range libraries {
		_, missing := os.Stat(filepath.Join(jars, jar+".jar"))
		err = errors.Join(err, missing)
	}
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	return nil
}

// compile returns the folder of the compiled peer. It is kept in the user's
// cache under the name of what it was made of, and moved there, for another
// test binary may be doing the same.
func compile() (string, error) {
	if err := installed("curator-recipes"); err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(cache, "zkrecipes", "peers")
	classes := filepath.Join(parent, fmt.Sprintf("curator-%x", sha256.Sum256(curatorSource))[:24])
	if _, err := os.Stat(classes); err == nil {
		return classes, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(parent, "compile-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	source := filepath.Join(tmp, "CuratorPeer.java")
	if err := os.WriteFile(source, curatorSource, 0o600); err != nil {
		return "", err
	}
	made := filepath.Join(tmp, "classes")
	if out, err := exec.Command("javac", "-d", made, "-cp", path(), source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("peers: javac: %w\n%s", err, out)
	}
	if err := os.Rename(made, classes); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return classes, nil
}

// giveUp skips the test, loudly, where a person's machine lacks a peer, and
// fails it where everything must be there.
func giveUp(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%v", err)
	}
	notes.Say("peers", "SKIPPED "+t.Name()+": "+err.Error())
	t.Skipf("%v", err)
}
