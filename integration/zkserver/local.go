package zkserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/child"
)

const (
	mainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
	// prepareTimeout bounds the download of packages and the making of an image.
	prepareTimeout = 5 * time.Minute
)

// local runs servers as Java processes of this machine.
type local struct {
	version   string
	java      string
	classPath string
	from      string
}

// newLocal takes the jars of ZK_HOME, an unpacked release, if they are of that
// version, else of Debian's packages.
func newLocal(version string) (launcher, error) {
	java, err := exec.LookPath("java")
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java, err = exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	if err != nil {
		return nil, fmt.Errorf("zkserver: local ZooKeeper %s: %w: %w", version, errUnavailable, err)
	}
	dir := releaseJars(os.Getenv("ZK_HOME"), version)
	if dir == "" {
		ctx, cancel := context.WithTimeout(context.Background(), prepareTimeout)
		defer cancel()
		if dir, err = script(ctx, nil, "zookeeper-jars.sh", version); err != nil {
			return nil, fmt.Errorf("zkserver: local ZooKeeper %s: %w: %w", version, errUnavailable, err)
		}
	}
	path, err := classPath(dir)
	if err != nil {
		return nil, fmt.Errorf("zkserver: local ZooKeeper %s: %w", version, err)
	}
	return &local{version: version, java: java, classPath: path, from: dir}, nil
}

// releaseJars returns the folder of an unpacked release's jars, or "".
func releaseJars(home, version string) string {
	if home == "" {
		return ""
	}
	dir := filepath.Join(home, "lib")
	if found, _ := filepath.Glob(filepath.Join(dir, "zookeeper-"+version+".*.jar")); len(found) == 0 {
		return ""
	}
	return dir
}

// classPath names the server's own jar last. Debian's names the others in its
// manifest by absolute paths, which would come before whatever follows it: the
// installed version's jars in place of those in dir.
func classPath(dir string) (string, error) {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil || len(jars) == 0 {
		return "", fmt.Errorf("no jars in %s", dir)
	}
	var first, last []string
	for _, jar := range jars {
		base := filepath.Base(jar)
		if base == "zookeeper.jar" || strings.HasPrefix(base, "zookeeper-3") {
			last = append(last, jar)
		} else {
			first = append(first, jar)
		}
	}
	return strings.Join(append(first, last...), ":"), nil
}

func (l *local) String() string {
	return fmt.Sprintf("ZooKeeper %s as local Java processes, jars of %s", l.version, l.from)
}

func (*local) close() error { return nil }

func (l *local) launch(_ context.Context, s spec) (process, error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("zkserver: %s: %w", s.name, err)
	}
	defer log.Close() // the child has its own
	args := append(s.jvm[:len(s.jvm):len(s.jvm)], "-cp", l.classPath, mainClass, s.config)
	cmd := exec.Command(l.java, args...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	p, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("zkserver: %s: %w", s.name, err)
	}
	return localProcess{p}, nil
}

type localProcess struct{ *child.Process }

func (p localProcess) running() bool { return p.Running() }
func (p localProcess) kill() error   { p.Kill(); return nil }
func (p localProcess) freeze() error { return p.Signal(syscall.SIGSTOP) }
func (p localProcess) thaw() error   { return p.Signal(syscall.SIGCONT) }
