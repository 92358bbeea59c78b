package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

const (
	// session is the session timeout: long enough that a busy machine loses none,
	// short enough to wait for its end.
	session = 2 * time.Second
	// patience bounds waits for what takes seconds.
	patience = 30 * time.Second
)

// replica is a process.
type replica struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // that it has logged; closed at its end
}

func startReplica(t *testing.T, srv *zktest.Server, id string, args ...string) *replica {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	r := &replica{t: t, lines: make(chan string, 1000)}
	r.cmd = exec.Command(binary, append([]string{"-connect", srv.ConnectString(), "-session-timeout", session.String(), "-id", id}, args...)...)
	r.cmd.Env = append(os.Environ(), asReplica+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := r.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	go func() {
		defer close(r.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			r.lines <- scan.Text()
		}
	}()
	t.Cleanup(r.kill)
	r.await("standing by")
	return r
}

// await waits until it logs something.
func (r *replica) await(text string) {
	r.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var all []string
	for {
		select {
		case line, ok := <-r.lines:
			require.True(r.t, ok, "not logged: %q, but %q", text, all)
			all = append(all, line)
			if strings.Contains(line, text) {
				return
			}
		case <-timer.C:
			require.FailNow(r.t, "not logged in time", "%q, but %q", text, all)
		}
	}
}

// kill ends it by SIGKILL. Further calls do nothing.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	for range r.lines { // up to the end
	}
	_ = r.cmd.Wait()
}

// ends states that it ends well.
func (r *replica) ends() {
	r.t.Helper()
	for range r.lines {
	}
	require.NoError(r.t, r.cmd.Wait())
}

func (r *replica) signal(sig syscall.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(sig))
}

// reconciled states that what is wanted from now on comes about.
func reconciled(t *testing.T, srv *zktest.Server, spec string) {
	t.Helper()
	require.NoError(t, srv.SetData(specPath, []byte(spec)))
	require.Eventually(t, func() bool { return status(srv) == spec }, patience, 5*time.Millisecond)
}

func status(srv *zktest.Server) string {
	n, _ := srv.Get(statusPath)
	return string(n.Data)
}

// three starts three replicas, of which the first is active.
func three(t *testing.T) (_ *zktest.Server, a, b, c *replica) {
	t.Helper()
	srv := zktest.Start(t, zktest.WithTick(session/8))
	a = startReplica(t, srv, "a")
	a.await("active")
	b = startReplica(t, srv, "b")
	queued(t, srv, 2)
	c = startReplica(t, srv, "c")
	queued(t, srv, 3)
	reconciled(t, srv, "by a")
	return srv, a, b, c
}

func queued(t *testing.T, srv *zktest.Server, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(srv.Children(electionPath)) == n }, patience, 5*time.Millisecond)
}

func TestControllerSurvivesKills(t *testing.T) {
	t.Parallel()
	srv, a, b, c := three(t)
	a.kill()
	b.await("active")
	reconciled(t, srv, "by b")
	b.kill()
	c.await("active")
	reconciled(t, srv, "by c")
}

func TestControllerSurvivesAStoppedReplicaAndItsReturn(t *testing.T) {
	t.Parallel()
	srv, a, b, c := three(t)
	a.signal(syscall.SIGSTOP)
	require.NoError(t, srv.SetData(specPath, []byte("while a is stopped")))
	b.await("active")
	require.Eventually(t, func() bool { return status(srv) == "while a is stopped" }, patience, 5*time.Millisecond)
	a.signal(syscall.SIGCONT)
	a.await("standing by")
	reconciled(t, srv, "by b")
	queued(t, srv, 3) // a is back in the queue
	b.kill()
	c.await("active")
	c.kill()
	a.await("active")
	reconciled(t, srv, "by a again")
}

func TestControllerSurvivesARollingUpdate(t *testing.T) {
	t.Parallel()
	srv, a, b, c := three(t)
	replicas := []*replica{a, b, c}
	for i, id := range []string{"d", "e", "f"} {
		old := replicas[i]
		old.signal(syscall.SIGTERM)
		old.ends()
		replicas = append(replicas, startReplica(t, srv, id))
		replicas[i+1].await("active")
		reconciled(t, srv, "before "+id)
		queued(t, srv, 3)
	}
}

func TestControllerGoesOnWhenTheServerIsRestarted(t *testing.T) {
	t.Parallel()
	srv, _, _, _ := three(t)
	require.NoError(t, srv.Restart())
	reconciled(t, srv, "after the restart")
}

func TestHealthyWhileStandingByAndWhileActive(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithTick(session/8))
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, id := range []string{"active", "standby"} {
		at := freeAddr(t)
		startReplica(t, srv, id, "-health", at)
		queued(t, srv, i+1)
		res, err := client.Get("http://" + at + "/healthz")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
}

// freeAddr returns an address that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
