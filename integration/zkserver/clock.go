package zkserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed Time.java
var timeSource []byte

// SetClock restarts the server with a wall clock that is off by that much. The
// clock of the machine stays: the class through which ZooKeeper reads the time is
// replaced by one that adds to it. What ZooKeeper does by elapsed time, such as
// ending sessions, is as before. It needs javac.
func (s *Server) SetClock(ctx context.Context, off time.Duration) error {
	if s.ens.external() {
		return ErrNoControl
	}
	classes := filepath.Join(s.dir, "classes") // which a container sees too
	source := filepath.Join(classes, "Time.java")
	if err := errors.Join(os.MkdirAll(classes, 0o700), os.WriteFile(source, timeSource, 0o600)); err != nil {
		return fmt.Errorf("zkserver: %s: %w", s, err)
	}
	// The oldest release that a server here may run on.
	javac := exec.CommandContext(ctx, "javac", "--release", "8", "-nowarn", "-Xlint:-options", "-d", classes, source)
	if out, err := javac.CombinedOutput(); err != nil {
		return fmt.Errorf("zkserver: %s: javac: %w: %s", s, err, out)
	}
	s.Configure(func(c *Config) {
		// What is appended there comes before any class path.
		c.JVM = append(c.JVM, "-Xbootclasspath/a:"+classes, fmt.Sprintf("-Dzkserver.clock.offset=%d", off.Milliseconds()))
	})
	return s.Restart(ctx)
}
