package worker_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/worker"
)

const patience = 10 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T) *worker.Worker {
	t.Helper()
	return worker.Start(t, exec.Command(worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/worker/internal/echo")))
}

func TestWorkerAnswersLineByLine(t *testing.T) {
	w := start(t)
	for _, want := range []string{"one", "two words"} {
		got, err := w.Ask(within(t), "say "+want)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Contains(t, w.Stderr(), "echo starts")
}

func TestWorkerIsNotHeldUpByATestThatDoesNotListen(t *testing.T) {
	w := start(t)
	const lines = 100_000 // far beyond a pipe's buffer
	require.NoError(t, w.Send(fmt.Sprint("count ", lines)))
	require.NoError(t, w.CloseInput())
	require.NoError(t, w.Wait(within(t)))
	ctx := within(t)
	for i := range lines {
		got, err := w.Receive(ctx)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(i), got)
	}
	for range 2 {
		_, err := w.Receive(ctx)
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestFrozenWorkerSaysNothingUntilThawed(t *testing.T) {
	w := start(t)
	_, err := w.Ask(within(t), "say ready")
	require.NoError(t, err)
	require.NoError(t, w.Freeze())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = w.Ask(ctx, "say hello")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, w.Thaw())
	got, err := w.Receive(within(t))
	require.NoError(t, err)
	require.Equal(t, "hello", got)
}

func TestExitCodeIsTheWorkersOwn(t *testing.T) {
	w := start(t)
	require.NoError(t, w.Send("exit 7"))
	code, err := w.ExitCode(within(t))
	require.NoError(t, err)
	require.Equal(t, 7, code)
	require.Error(t, w.Signal(syscall.SIGTERM), "it has ended")
}

func TestKillEndsAFrozenWorkerAndItsChildren(t *testing.T) {
	w := start(t)
	line, err := w.Ask(within(t), "child")
	require.NoError(t, err)
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	require.NoError(t, w.Freeze())
	w.Kill()
	w.Kill()
	code, err := w.ExitCode(within(t))
	require.NoError(t, err)
	require.Equal(t, -1, code)
	require.Eventually(t, func() bool { return !alive(pid) }, patience, time.Millisecond)
}

func TestChildrenOfAWorkerThatEndsByItselfEndToo(t *testing.T) {
	w := start(t)
	line, err := w.Ask(within(t), "child")
	require.NoError(t, err)
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	require.NoError(t, w.Send("exit 0"))
	require.NoError(t, w.Wait(within(t)), "the child that holds the output does not keep Wait")
	require.Eventually(t, func() bool { return !alive(pid) }, patience, time.Millisecond)
}

// alive tells whether the process runs; a zombie, which its adoptive parent has
// not reaped yet, does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
