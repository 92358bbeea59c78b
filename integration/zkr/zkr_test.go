package zkr_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	// timeout is the session timeout of all tests, four ticks.
	timeout = 2 * time.Second
	// patience bounds against hanging what takes seconds.
	patience = 60 * time.Second
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// start starts the command line as users get it.
func start(t *testing.T, args ...string) *worker.Worker {
	t.Helper()
	cmd := exec.Command(worker.Build(t, "github.com/zkrecipes/zkrecipes/cmd/zkr"), args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return worker.Start(t, cmd)
}

// startLock starts zkr lock around a script.
func startLock(t *testing.T, connect, path, script string, args ...string) *worker.Worker {
	t.Helper()
	return start(t, append([]string{"lock", "--connect", connect, "--session-timeout", timeout.String(),
		path, "--", "sh", "-c", script, "sh"}, args...)...)
}

// exit waits for the end and returns the exit code.
func exit(t *testing.T, w *worker.Worker) int {
	t.Helper()
	code, err := w.ExitCode(within(t, patience))
	require.NoError(t, err)
	return code
}

// lines returns all that is left of the output.
func lines(t *testing.T, w *worker.Worker) (all []string) {
	t.Helper()
	ctx := within(t, patience)
	for {
		line, err := w.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, line)
	}
}

func TestCommandsUnderOneLockTakeTurnsWithGrowingTokens(t *testing.T) {
	t.Parallel()
	const n = 8
	e, path, dir := zkserver.Shared(t), zkserver.Path(t), t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	// mkdir fails where two are in here at once.
	const script = `mkdir "$1" || exit 9; echo $ZKR_FENCING_TOKEN >>"$2"; sleep 0.05; rmdir "$1"`
	var all []*worker.Worker
	for range n {
		all = append(all, startLock(t, e.Connect(), path, script, filepath.Join(dir, "inside"), tokens))
	}
	for _, w := range all {
		require.Equal(t, 0, exit(t, w), w.Stderr())
	}
	data, err := os.ReadFile(tokens)
	require.NoError(t, err)
	seen := strings.Fields(string(data))
	require.Len(t, seen, n)
	for i := 1; i < n; i++ {
		require.Less(t, number(t, seen[i-1]), number(t, seen[i]))
	}
}

// Each command tells when it lives, by the machine's clock. The first heeds no
// signal but SIGKILL.
func TestCommandCutOffFromTheServersIsDeadBeforeTheNextOneStarts(t *testing.T) {
	t.Parallel()
	s, path := zkserver.Shared(t).Servers[0], zkserver.Path(t)
	p, err := s.NewProxy()
	require.NoError(t, err)
	first := startLock(t, p.Addr(), path, `trap "" TERM; while :; do date +%s%N; sleep 0.01; done`)
	_, err = first.Receive(within(t, patience)) // it lives
	require.NoError(t, err)
	next := startLock(t, s.Addr(), path, "date +%s%N")
	require.Eventually(t, func() bool { return strings.Contains(next.Stderr(), "waiting at position 1") }, patience, 10*time.Millisecond)
	p.Blackhole()
	p.Refuse()
	require.Equal(t, 80, exit(t, first), "the code for a lost lease")
	require.Equal(t, 0, exit(t, next))
	beats, started := lines(t, first), lines(t, next)
	last, began := number(t, beats[len(beats)-1]), number(t, started[0])
	require.Less(t, last, began)
	t.Logf("T = %v: the first command lived until %v before the next one started", timeout, time.Duration(began-last).Round(time.Millisecond))
}

func TestDemoOnARealEnsembleShowsWhatItPromisesAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	e := zkserver.Shared(t)
	w := start(t, "demo", "--connect", e.Connect())
	require.Equal(t, 0, exit(t, w), "%s\n%s", strings.Join(lines(t, w), "\n"), w.Stderr())
	c, err := recipes.Dial(within(t, patience), e.Connect())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	session, err := c.Session(within(t, patience))
	require.NoError(t, err)
	names, _, err := session.Children(within(t, patience), "/")
	require.NoError(t, err)
	for _, name := range names {
		require.NotContains(t, name, "zkr-demo")
	}
}

func TestBenchOnARealEnsembleMeasuresAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	e := zkserver.Shared(t)
	w := start(t, "bench", "--connect", e.Connect(), "--rounds", "50", "--for", patience.String())
	require.Equal(t, 0, exit(t, w), w.Stderr())
	said := strings.Join(lines(t, w), "\n")
	require.Regexp(t, `(?s)write +50 .*floor +50 .*lock +50 .* of the floor\nhand-over +50 `, said)
	t.Log(said)
	c, err := recipes.Dial(within(t, patience), e.Connect())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	session, err := c.Session(within(t, patience))
	require.NoError(t, err)
	names, _, err := session.Children(within(t, patience), "/")
	require.NoError(t, err)
	for _, name := range names {
		require.NotContains(t, name, "zkr-bench")
	}
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}
