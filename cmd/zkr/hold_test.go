//go:build unix

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// stubborn is a command that does not heed SIGTERM, and what it has started
// neither: they live until they are killed, or for so long that the test has
// failed.
const (
	stubborn = `trap "" TERM; sh -c 'trap "" TERM; echo ready; ` + forLong + `'; echo over`
	forLong  = `for i in $(seq 300); do sleep 0.2; done`
)

func TestCommandIsDeadBeforeAnotherHasTheLock(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, stubborn)
	p := zkrLock(t, srv, script...)
	out.await("ready")
	victim := srv.Sessions()[0].ID
	next := dial(t, srv) // is connected before nobody can connect any more
	require.NoError(t, srv.Refuse(true))
	srv.Blackhole(victim, zktest.ToServer|zktest.ToClient)
	lease := takeWith(t, next)
	granted := time.Now()
	require.NoError(t, lease.Err())
	out.awaitEnd()
	require.True(t, out.at.Before(granted), "the command outlived its lease by %v", out.at.Sub(granted))
	require.NoError(t, srv.Refuse(false))
	require.Equal(t, exitLost, p.exit())
	require.NotContains(t, out.rest(), "over")
	said := p.stderr.rest()
	require.Contains(t, said, "no connection to the servers; the lease on /locks/job holds for ")
	require.Regexp(t, "the lease on /locks/job ends in .*; stopping the command", said)
}

func TestCommandIsAskedToEndFirst(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, `trap "echo asked; exit 0" TERM; echo ready; for i in $(seq 3000); do sleep 0.01; done`)
	const long = 2 * session // so that a busy machine gets to run the trap
	p := zkr(t, append([]string{"lock", "--connect", srv.ConnectString(), "--session-timeout", long.String(),
		"--tick", (session / 8).String(), "--kill-after", (long / 5).String(), path}, script...)...)
	out.await("ready")
	srv.Freeze()
	frozen := time.Now()
	out.await("asked")
	out.awaitEnd()
	require.Less(t, out.at.Sub(frozen), long, "dead by the end of the lease, which began before")
	srv.Thaw()
	require.Equal(t, exitLost, p.exit(), "it has not done its work, whatever it says")
	require.Regexp(t, "stopped in time|lease lost", p.stderr.rest())
}

func TestStoppedCommandDiesWithTheLeaseToo(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, "echo ready; kill -STOP $$")
	p := zkrLock(t, srv, script...)
	out.await("ready")
	srv.Freeze()
	out.awaitEnd()
	srv.Thaw()
	require.Equal(t, exitLost, p.exit())
}

func TestOutageShorterThanTheLeaseLeavesTheCommandAlone(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrLock(t, srv, "--", "cat")
	require.Eventually(t, func() bool { return len(srv.Children(path)) == 1 }, patience, session/100)
	require.NoError(t, srv.Restart())
	next := zkrLock(t, srv, "--", "true")
	next.stderr.await("waiting at position 1")
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
	require.Equal(t, 0, next.exit())
}

func TestLeaseLostWithoutWarningKillsTheCommandAtOnce(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *zktest.Server){
		"znode deleted by an operator": func(t *testing.T, srv *zktest.Server) {
			require.NoError(t, srv.Delete(path+"/"+srv.Children(path)[0]))
		},
		"session ended by the server": func(t *testing.T, srv *zktest.Server) {
			id := srv.Sessions()[0].ID
			srv.ExpireSession(id)
			srv.Cut(id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t)
			out, script := ownStream(t, stubborn)
			p := zkrLock(t, srv, script...)
			out.await("ready")
			lose(t, srv)
			require.Equal(t, exitLost, p.exit())
			out.awaitEnd()
			require.Contains(t, p.stderr.rest(), "lease lost: /locks/job, token ")
		})
	}
}

func TestCommandDiesWithZkrAndWhatItHasStartedToo(t *testing.T) {
	t.Parallel()
	out, script := ownStream(t, stubborn)
	p := zkrLock(t, serve(t), script...)
	out.await("ready")
	p.signal(syscall.SIGKILL)
	out.awaitEnd()
}

func TestLockWithinALockDiesWithIt(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, stubborn)
	inner := append([]string{"--", testBinary(t), "lock", "--connect", srv.ConnectString(), "--session-timeout", session.String(), "/locks/inner"}, script...)
	p := zkrLock(t, srv, inner...)
	out.await("ready")
	p.signal(syscall.SIGKILL)
	out.awaitEnd()
}

func TestGuardHeedsNoSignalThatIsForTheCommand(t *testing.T) {
	t.Parallel()
	out, script := ownStream(t, `trap "echo heard" USR1 INT; echo waiting; until read line; do :; done; `+stubborn)
	p := zkrLock(t, serve(t), script...)
	out.await("waiting")
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGINT} {
		p.signal(sig)
		out.await("heard")
	}
	_, err := io.WriteString(p.stdin, "go on\n")
	require.NoError(t, err)
	out.await("ready")
	p.signal(syscall.SIGKILL) // only the guard ends what the command has started
	out.awaitEnd()
}

func TestWhatTheCommandLeavesBehindIsKilled(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrLock(t, srv, "--", "sh", "-c", `sh -c 'trap "" HUP TERM; `+forLong+`' & echo started`)
	require.Equal(t, 0, p.exit())
	p.stdout.awaitEnd()
	require.Empty(t, srv.Children(path))
}

func TestZkrOutlivesWhoeverReadsItsStderr(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	holder := take(t, srv)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := zkrCommand(t, "lock", "--connect", srv.ConnectString(), path, "--", "echo", "ran")
	cmd.Stderr = w
	p := start(t, cmd)
	w.Close()
	r.Close() // before zkr says that it waits
	require.Eventually(t, func() bool { return len(srv.Children(path)) == 2 }, patience, session/100)
	release(t, holder)
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ran", p.stdout.rest())
}

func TestStderrThatNobodyReadsDoesNotKeepTheCommandAlive(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	fill(t, w)
	out, script := ownStream(t, stubborn)
	cmd := zkrCommand(t, append([]string{"lock", "--connect", srv.ConnectString(), "--session-timeout", session.String(), path}, script...)...)
	cmd.Stderr = w
	start(t, cmd)
	out.await("ready")
	srv.Freeze() // of which there is something to say
	out.awaitEnd()
	srv.Thaw()
}

// fill writes to a pipe until it takes no more.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := w.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// groupOf returns the process group in which a command has told its pid.
func groupOf(t *testing.T, line string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "pid "))
	require.NoError(t, err)
	group, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	return group
}

func TestCommandRunsOnWithoutItsGuardAndStillDiesWithTheLease(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, "echo pid $$; "+stubborn)
	p := zkrLock(t, srv, script...)
	guard := groupOf(t, out.await("pid "))
	out.await("ready")
	require.NoError(t, syscall.Kill(guard, syscall.SIGKILL))
	srv.Freeze()
	out.awaitEnd()
	srv.Thaw()
	require.Equal(t, exitLost, p.exit())
}
