package monitoring

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/child"
	"github.com/zkrecipes/zkrecipes/promzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// asPaused in the environment makes the test binary a process to stop.
const asPaused = "ZKR_TEST_PAUSED"

// bePaused has a session of its own, and prints its longest pause whenever it is
// asked by a line.
func bePaused() {
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	metrics, reg := promzkr.New(), prometheus.NewRegistry()
	reg.MustRegister(metrics)
	c, err := recipes.Dial(context.Background(), srv.ConnectString(),
		recipes.WithSessionTimeout(4*time.Second), recipes.WithTrace(metrics.Trace()))
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		all, err := reg.Gather()
		if err != nil {
			panic(err)
		}
		for _, f := range all {
			if f.GetName() == "zkr_pause_longest_seconds" {
				fmt.Println(f.GetMetric()[0].GetGauge().GetValue())
			}
		}
	}
}

// pausedProcess is one of these.
type pausedProcess struct {
	*child.Process
	in  *os.File
	out *bufio.Scanner
}

func startPaused(t *testing.T) *pausedProcess {
	t.Helper()
	theirs, in, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asPaused+"=1")
	cmd.Stdin, cmd.Stderr = theirs, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := child.Start(cmd)
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	t.Cleanup(func() { p.Kill(); _ = in.Close() })
	return &pausedProcess{p, in, bufio.NewScanner(out)}
}

// longest asks for the longest pause.
func (p *pausedProcess) longest(t *testing.T) time.Duration {
	t.Helper()
	_, err := fmt.Fprintln(p.in)
	require.NoError(t, err)
	require.True(t, p.out.Scan())
	s, err := strconv.ParseFloat(strings.TrimSpace(p.out.Text()), 64)
	require.NoError(t, err)
	return time.Duration(s * float64(time.Second))
}

// A process that was really stopped tells for how long, short by a thirty-second of
// its session timeout at most. How much longer, the machine's other work decides.
func TestLongestPauseIsThatOfAProcessThatWasStopped(t *testing.T) {
	p := startPaused(t)
	p.longest(t) // it has a session now
	const pause = time.Second
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	time.Sleep(pause) // the pause itself
	require.NoError(t, p.Signal(syscall.SIGCONT))
	// Signals take their time too.
	require.Eventually(t, func() bool { return p.longest(t) >= pause*3/4 }, time.Minute, 10*time.Millisecond)
	require.Less(t, p.longest(t), time.Minute)
}
