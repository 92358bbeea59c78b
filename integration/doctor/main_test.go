package doctor_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestMain(m *testing.M) { zkserver.Main(m) }

const (
	// patience bounds against hanging what takes seconds.
	patience = time.Minute
	// timeout is what the doctor is told that sessions are wanted to have.
	timeout = 4 * time.Second
	// fault is the exit code that says that there is one.
	fault = 82
)

// hurried is for servers that never answer, which the doctor waits for.
var hurried = []string{"--connect-timeout", "1s"}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// report is what the doctor has said.
type report struct {
	code   int
	lines  []string
	stderr string
}

// doctor runs zkr doctor as users get it.
func doctor(t *testing.T, connect string, args ...string) report {
	t.Helper()
	args = append([]string{"doctor", "--connect", connect, "--connect-timeout", "3s", "--session-timeout", timeout.String()}, args...)
	cmd := exec.Command(worker.Build(t, "github.com/zkrecipes/zkrecipes/cmd/zkr"), args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	w := worker.Start(t, cmd)
	var r report
	var err error
	r.code, err = w.ExitCode(within(t, patience))
	require.NoError(t, err)
	for {
		line, err := w.Receive(within(t, patience))
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		r.lines = append(r.lines, line)
	}
	r.stderr = w.Stderr()
	t.Logf("zkr %s\n%s", strings.Join(args, " "), r)
	return r
}

func (r report) String() string { return strings.Join(r.lines, "\n") }

// names fails the test unless the doctor names each of the faults, each once, and
// no other.
func (r report) names(t *testing.T, faults ...string) {
	t.Helper()
	var found []string
	for _, line := range r.lines {
		if strings.HasPrefix(line, "fault") {
			found = append(found, line)
		}
	}
	require.Len(t, found, len(faults), r)
	for i, want := range faults {
		require.Contains(t, found[i], want)
	}
	if len(faults) == 0 {
		require.Equal(t, 0, r.code, r.stderr)
		return
	}
	require.Equal(t, fault, r.code, r.stderr)
	require.Contains(t, r.stderr, "faults found: ")
}

// dial returns a session of the test's own.
func dial(t *testing.T, addr string, opts ...recipes.Option) *recipes.Session {
	t.Helper()
	c, err := recipes.Dial(within(t, patience), addr, opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s, err := c.Session(within(t, patience))
	require.NoError(t, err)
	return s
}
