// Package worker runs programs beside a test and talks to them by lines.
//
//	w := worker.Start(t, exec.Command(worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/…"), args…))
//	answer, err := w.Ask(ctx, "lock /a")
//	err = w.Freeze() // SIGSTOP; Thaw, Kill, Signal
//
// A worker reads commands from its standard input and prints answers and
// events to its standard output, a line each. Its standard error is shown when
// the test fails. It leads a process group of its own, which is killed at the
// end of the test, and which dies with the test binary whatever ends that.
package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/internal/child"
)

// Worker is a running program. All methods may be called from any goroutine.
type Worker struct {
	name   string
	child  *child.Process
	input  io.WriteCloser
	read   chan struct{} // closed when the reader of the output has ended
	stderr lockedBuffer

	mu    sync.Mutex    // guards lines and ended
	lines []string      // printed and not yet received
	ended bool          // no further lines come
	more  chan struct{} // holds a token while there may be something to receive
}

// Start starts cmd, whose standard streams must be unset. It fails the test if
// the program cannot be started.
func Start(t testing.TB, cmd *exec.Cmd) *Worker {
	t.Helper()
	w := &Worker{name: cmd.Path, read: make(chan struct{}), more: make(chan struct{}, 1)}
	if err := w.start(cmd); err != nil {
		t.Fatalf("worker: %s: %v", cmd.Path, err)
	}
	t.Cleanup(func() {
		w.Kill()
		if t.Failed() {
			t.Logf("standard error of %s:\n%s", w.name, w.Stderr())
		}
	})
	return w
}

func (w *Worker) start(cmd *exec.Cmd) error {
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	// Not StdoutPipe: the child's end closes that, with lines still in it.
	output, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = theirs, &w.stderr
	w.child, err = child.Start(cmd)
	_ = theirs.Close()
	if err != nil {
		_ = output.Close()
		return err
	}
	w.input = input
	go w.receive(output)
	return nil
}

// receive owns the output until the last process that holds it has ended; Kill
// joins it.
func (w *Worker) receive(output *os.File) {
	defer close(w.read)
	defer output.Close()
	r := bufio.NewReader(output)
	for {
		line, err := r.ReadString('\n')
		w.mu.Lock()
		if line != "" {
			w.lines = append(w.lines, string(bytes.TrimRight([]byte(line), "\r\n")))
		}
		w.ended = err != nil
		w.mu.Unlock()
		w.notify()
		if err != nil {
			return
		}
	}
}

func (w *Worker) notify() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// PID is the worker's process id.
func (w *Worker) PID() int { return w.child.PID() }

// Send writes a line to the worker's standard input.
func (w *Worker) Send(line string) error {
	if _, err := io.WriteString(w.input, line+"\n"); err != nil {
		return fmt.Errorf("worker: send: %w", err)
	}
	return nil
}

// CloseInput ends the worker's standard input.
func (w *Worker) CloseInput() error { return w.input.Close() }

// Receive returns the next line that the worker printed, io.EOF after the last
// one, or the context's error.
func (w *Worker) Receive(ctx context.Context) (string, error) {
	for {
		line, ok, ended := w.pop()
		if ok {
			return line, nil
		}
		if ended {
			return "", io.EOF
		}
		select {
		case <-w.more:
		case <-ctx.Done():
			return "", fmt.Errorf("worker: no line from %s: %w", w.name, ctx.Err())
		}
	}
}

// pop passes the token on if there is something left for another receiver.
func (w *Worker) pop() (line string, ok, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) > 0 {
		line, ok = w.lines[0], true
		w.lines = w.lines[1:]
	}
	if len(w.lines) > 0 || w.ended {
		w.notify()
	}
	return line, ok, w.ended
}

// Ask sends a line and returns the next one that the worker prints.
func (w *Worker) Ask(ctx context.Context, line string) (string, error) {
	if err := w.Send(line); err != nil {
		return "", err
	}
	return w.Receive(ctx)
}

// Signal sends sig to the worker's process group.
func (w *Worker) Signal(sig syscall.Signal) error { return w.child.Signal(sig) }

// Freeze stops the worker by SIGSTOP.
func (w *Worker) Freeze() error { return w.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen worker go on.
func (w *Worker) Thaw() error { return w.Signal(syscall.SIGCONT) }

// Kill ends the worker's process group by SIGKILL and returns when it is gone
// and all that it printed can be received. A second call does nothing.
func (w *Worker) Kill() {
	w.child.Kill()
	<-w.read
	_ = w.input.Close()
}

// Wait waits until the worker has ended and returns what [exec.Cmd.Wait]
// returned, or the context's error.
func (w *Worker) Wait(ctx context.Context) error {
	select {
	case <-w.child.Done():
		<-w.read
		return w.child.Err()
	case <-ctx.Done():
		return fmt.Errorf("worker: %s has not ended: %w", w.name, ctx.Err())
	}
}

// ExitCode waits like Wait and returns the code: -1 where a signal ended the
// worker, as [os.ProcessState.ExitCode] says.
func (w *Worker) ExitCode(ctx context.Context) (int, error) {
	err := w.Wait(ctx)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Stderr is what the worker has written to its standard error so far.
func (w *Worker) Stderr() string { return w.stderr.String() }

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
