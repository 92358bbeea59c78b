//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const (
	// patience bounds waits for what takes no time on an idle machine.
	patience = 30 * time.Second
	// session is the session timeout of most tests: long enough that a busy
	// machine loses none, short enough to wait for its end.
	session = 2 * time.Second
	path    = "/locks/job"
)

// serve starts a server for one test.
func serve(t *testing.T) *zktest.Server {
	return zktest.Start(t, zktest.WithTick(session/8))
}

// process is a zkr, or another program, that a test runs.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr *stream
	ended          chan struct{}
}

// stream is what a process writes, by lines.
type stream struct {
	t     *testing.T
	lines chan string   // closed at the end
	ended chan struct{} // closed at the end
	at    time.Time     // of the end, set before ended is closed
	all   []string
}

// zkr starts zkr as a process.
func zkr(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, zkrCommand(t, args...))
}

func zkrCommand(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(testBinary(t), args...)
	cmd.Env = append(os.Environ(), asZkr, inNoTime)
	return cmd
}

// zkrLock starts zkr lock on a server, with a short session.
func zkrLock(t *testing.T, srv *zktest.Server, args ...string) *process {
	t.Helper()
	return zkr(t, append([]string{"lock", "--connect", srv.ConnectString(), "--session-timeout", session.String(), path}, args...)...)
}

func testBinary(t *testing.T) string {
	binary, err := os.Executable()
	require.NoError(t, err)
	return binary
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdin == nil {
		var err error
		p.stdin, err = cmd.StdinPipe()
		require.NoError(t, err)
	}
	var out, errs *os.File
	p.stdout, out = newStream(t)
	p.stderr, errs = newStream(t)
	cmd.Stdout = out
	if cmd.Stderr == nil {
		cmd.Stderr = errs
	}
	require.NoError(t, cmd.Start())
	out.Close()
	errs.Close()
	go func() {
		defer close(p.ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Process.Kill()
		<-p.ended
		<-p.stdout.ended
		<-p.stderr.ended
	})
	return p
}

// newStream returns a stream and what is to be written to it.
func newStream(t *testing.T) (*stream, *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	s := &stream{t: t, lines: make(chan string, 1000), ended: make(chan struct{})}
	go s.read(r)
	return s, w
}

func (s *stream) read(r *os.File) {
	defer r.Close()
	for scan := bufio.NewScanner(r); scan.Scan(); {
		s.lines <- scan.Text()
	}
	s.at = time.Now()
	close(s.lines)
	close(s.ended)
}

// ownStream returns what runs a script with a stream of its own, which zkr has no part in: it ends
// when the script and all that it has started are dead.
func ownStream(t *testing.T, script string) (*stream, []string) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	s := &stream{t: t, lines: make(chan string, 1000), ended: make(chan struct{})}
	go func() {
		r, err := os.Open(fifo) // waits for the script
		if err != nil {
			panic(err)
		}
		s.read(r)
	}()
	t.Cleanup(func() {
		// Where no script came, this lets the reader go.
		if w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close()
		}
		<-s.ended
	})
	return s, []string{"--", "sh", "-c", "exec >" + fifo + "; " + script}
}

// await waits for a line that contains text, and returns it.
func (s *stream) await(text string) string {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				require.FailNow(s.t, "not said: "+text, "but: %q", s.all)
			}
			s.all = append(s.all, line)
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			require.FailNow(s.t, "not said in time: "+text, "but: %q", s.all)
		}
	}
}

// rest waits for the end of the stream and returns all that was ever on it.
func (s *stream) rest() string {
	s.t.Helper()
	s.awaitEnd()
	for line := range s.lines {
		s.all = append(s.all, line)
	}
	return strings.Join(s.all, "\n")
}

// awaitEnd waits until nobody has the stream open any more.
func (s *stream) awaitEnd() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		require.FailNow(s.t, "somebody still lives that could write to the stream")
	}
}

// exit waits for the end of the process and returns its exit code, as a shell
// counts it.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.FailNow(p.t, "the process does not end")
	}
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
}

// dial gives a client of the test's own.
func dial(t *testing.T, srv *zktest.Server, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := recipes.Dial(ctx, srv.ConnectString(), append([]recipes.Option{recipes.WithSessionTimeout(session)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// take takes the lock with a client of the test's own.
func take(t *testing.T, srv *zktest.Server, opts ...recipes.Option) *recipes.Lease {
	t.Helper()
	return takeWith(t, dial(t, srv, opts...))
}

func takeWith(t *testing.T, c *recipes.Client) *recipes.Lease {
	t.Helper()
	mu, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := mu.Lock(ctx)
	require.NoError(t, err)
	return lease
}

// release gives it back.
func release(t *testing.T, lease *recipes.Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, lease.Release(ctx))
}

// Doctor tries whether containers can be made; the server keeps one without
// children for ever.
func TestDoctorThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	before := len(srv.Tree())
	srv.On(zktest.Match{Op: zktest.OpCreateContainer}).DelayReply(session / 5)
	p := zkr(t, "doctor", "--connect", srv.ConnectString())
	require.Eventually(t, func() bool { return len(srv.Tree()) > before }, patience, time.Millisecond)
	p.signal(syscall.SIGINT)
	require.Equal(t, 128+int(syscall.SIGINT), p.exit())
	require.Len(t, srv.Tree(), before)
}
