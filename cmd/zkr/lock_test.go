//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestLockGivesTheCommandTokenAndPath(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	var tokens []int
	for range 2 {
		p := zkrLock(t, srv, "--", "sh", "-c", "echo $ZKR_FENCING_TOKEN; echo $ZKR_LOCK_PATH")
		require.Equal(t, 0, p.exit())
		out := strings.Split(p.stdout.rest(), "\n")
		token, err := strconv.Atoi(out[0])
		require.NoError(t, err)
		tokens = append(tokens, token)
		require.Equal(t, []string{path}, out[1:], "stdout is the command's alone")
		require.Empty(t, p.stderr.rest(), "there is nothing to say")
		require.Empty(t, srv.Children(path), "the lock was given back")
	}
	require.Less(t, tokens[0], tokens[1])
}

func TestLockExitsAsTheCommandDid(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	for script, want := range map[string]int{
		"exit 0":        0,
		"exit 3":        3,
		"exit 255":      255,
		"kill -TERM $$": 143,
		"kill -KILL $$": 137,
	} {
		p := zkrLock(t, srv, "--", "sh", "-c", script)
		require.Equal(t, want, p.exit(), script)
		require.Empty(t, p.stderr.rest())
	}
}

func TestLockPassesStdinThrough(t *testing.T) {
	t.Parallel()
	p := zkrLock(t, serve(t), "--", "cat")
	_, err := io.WriteString(p.stdin, "through and through\n")
	require.NoError(t, err)
	p.stdin.Close()
	require.Equal(t, 0, p.exit())
	require.Equal(t, "through and through", p.stdout.rest())
}

func TestLockWorksAsACronLine(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	out, w := newStream(t)
	defer func() { <-out.ended }()
	cmd := &exec.Cmd{
		Path: testBinary(t), Args: []string{"zkr", "lock", "--connect", srv.ConnectString(), "--session-timeout", session.String(), path, "--", "/bin/echo", "done"},
		Env: []string{asZkr, inNoTime}, Dir: "/", Stdin: null, Stdout: w, Stderr: w,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // no terminal
	}
	err = cmd.Run()
	w.Close()
	require.Equal(t, "done", out.rest())
	require.NoError(t, err)
}

func TestLockSaysWhoHoldsItAndAtWhatPositionItWaits(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	holder := take(t, srv, recipes.WithIdentity("first\x1b[31m"))
	second := zkrLock(t, srv, "--identity", "second", "--", "cat")
	said := second.stderr.await("/locks/job is held by \"first")
	require.NotContains(t, said, "\x1b", "what others show of themselves does nothing to a terminal")
	require.Contains(t, said, "waiting at position 1")
	third := zkrLock(t, srv, "--identity", "third", "--", "echo", "third")
	require.Regexp(t, `held by "first.*waiting at position 2$`, third.stderr.await("held by"))
	release(t, holder)
	require.Regexp(t, `held by "second", which came [0-9.]+m?s ago; waiting at position 1$`, third.stderr.await("held by"))
	second.stdin.Close()
	require.Equal(t, 0, second.exit())
	require.Equal(t, 0, third.exit())
	require.Equal(t, "third", third.stdout.rest())
	require.Len(t, strings.Split(third.stderr.rest(), "\n"), 2, "a line for each position")
}

func TestLockSaysWhereTheServersGrantLess(t *testing.T) {
	t.Parallel()
	srv := serve(t) // 20 ticks are the most that it grants
	p := zkr(t, "lock", "--connect", srv.ConnectString(), "--session-timeout", "1m", path, "--", "true")
	require.Equal(t, 0, p.exit())
	require.Contains(t, p.stderr.rest(), "the servers grant a session timeout of 5s, not 1m0s")
}

func TestQuietWaiterSaysNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	holder := take(t, srv)
	p := zkrLock(t, srv, "--quiet", "--", "true")
	require.Eventually(t, func() bool { return len(srv.Children(path)) == 2 }, patience, session/100)
	release(t, holder)
	require.Equal(t, 0, p.exit())
	require.Empty(t, p.stderr.rest())
}

func TestTryDoesNotWait(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	holder := take(t, srv, recipes.WithIdentity("the holder"))
	p := zkrLock(t, srv, "--try", "--", "echo", "ran")
	require.Equal(t, exitNotAcquired, p.exit())
	require.Empty(t, p.stdout.rest())
	require.Contains(t, p.stderr.rest(), `/locks/job is held by "the holder"`)
	require.Len(t, srv.Children(path), 1)
	release(t, holder)
	p = zkrLock(t, srv, "--try", "--", "echo", "ran")
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ran", p.stdout.rest())
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv, recipes.WithIdentity("the holder"))
	p := zkrLock(t, srv, "--wait", "1s", "--", "echo", "ran")
	require.Equal(t, exitNotAcquired, p.exit())
	require.Empty(t, p.stdout.rest())
	require.Regexp(t, `not acquired within 1s: at position 1, held by "the holder", which came [0-9.]+m?s ago`, p.stderr.rest())
	require.Len(t, srv.Children(path), 1, "the queue was left")
}

func TestWaiterTellsOfAnOutage(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv)
	p := zkrLock(t, srv, "--", "echo", "ran")
	p.stderr.await("waiting at position 1")
	srv.Down()
	p.stderr.await("no connection to the servers; still waiting")
	require.NoError(t, srv.Up())
	p.stderr.await("connected again; still waiting")
}

// A wait that ends in an outage is not to look like a lock that is held, and one
// that is told to be quiet not like one that goes well.
func TestOutageThatLastsIsToldWhateverElseIsNot(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv)
	quiet := zkrLock(t, srv, "--quiet", "--", "echo", "ran")
	bounded := zkrLock(t, srv, "--wait", "3s", "--", "echo", "ran")
	bounded.stderr.await("waiting at position")
	require.Eventually(t, func() bool { return len(srv.Children(path)) == 3 }, patience, session/100, "the quiet one waits too")
	srv.Down()
	require.Equal(t, exitNotAcquired, bounded.exit())
	require.Regexp(t, "was not acquired within 3s.*; there is no connection to the servers 127.0.0.1:", bounded.stderr.rest())
	require.Equal(t, "zkr: no connection to the servers for 2s; still waiting", quiet.stderr.await(""))
	require.NoError(t, srv.Up())
	require.Equal(t, "zkr: connected again; still waiting", quiet.stderr.await(""))
}

func TestNoServerHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	p := zkr(t, "lock", "--connect", "127.0.0.1:1", "--connect-timeout", "200ms", path, "--", "true")
	require.Equal(t, exitNoServer, p.exit())
	require.Regexp(t, "^zkr: no connection to any of 127.0.0.1:1 .*connection refused", p.stderr.rest())
}

func TestCommandThatCannotRunIsNotQueuedFor(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv) // a queue would last
	plain := t.TempDir() + "/plain"
	require.NoError(t, os.WriteFile(plain, []byte("data"), 0o644))
	p := zkrLock(t, srv, "--", "no-such-command")
	require.Equal(t, exitNotFound, p.exit())
	require.Contains(t, p.stderr.rest(), "no-such-command")
	p = zkrLock(t, srv, "--", plain)
	require.Equal(t, exitNotRunnable, p.exit())
	require.Contains(t, p.stderr.rest(), "permission denied")
}

func TestCommandThatFailsToStartReleasesTheLock(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	broken := t.TempDir() + "/broken"
	require.NoError(t, os.WriteFile(broken, []byte("\x7fELF of no kind"), 0o755))
	p := zkrLock(t, srv, "--", broken)
	require.Equal(t, exitNotRunnable, p.exit())
	require.Contains(t, p.stderr.rest(), "exec format error")
	require.Empty(t, srv.Children(path))
}

func TestSignalsReachTheCommandAndWhatItHasStarted(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT",
		syscall.SIGTERM: "TERM", syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2",
	}
	for sig, name := range names {
		// A shell reports a signal only when what it waits for has ended, so
		// that both must have got it. It ignores some for what it puts in the
		// background.
		script := fmt.Sprintf(`trap 'echo parent' %[1]s; sh -c "trap 'echo child; exit 4' %[1]s; echo ready; %[2]s"; exit 5`, name, strings.ReplaceAll(forLong, "$", `\$`))
		p := zkrLock(t, srv, "--", "sh", "-c", script)
		p.stdout.await("ready")
		p.signal(sig)
		require.Equal(t, 5, p.exit(), name)
		require.Equal(t, "ready\nchild\nparent", p.stdout.rest(), name)
		require.Empty(t, srv.Children(path))
	}
}

func TestSignalEndsTheWaitAndThePlaceInTheQueue(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := zkrLock(t, srv, "--", "echo", "ran")
		p.stderr.await("waiting at position 1")
		p.signal(sig)
		require.Equal(t, 128+int(sig), p.exit())
		require.Empty(t, p.stdout.rest())
		require.Len(t, srv.Children(path), 1)
	}
}

func TestIgnoredSignalStaysIgnored(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$@"`, "sh", testBinary(t),
		"lock", "--connect", srv.ConnectString(), path, "--", "sh", "-c", "echo ready; kill -HUP $$; read line; echo $line")
	cmd.Env = append(os.Environ(), asZkr, inNoTime)
	p := start(t, cmd)
	p.stdout.await("ready")
	p.signal(syscall.SIGHUP)
	_, err := io.WriteString(p.stdin, "alive\n")
	require.NoError(t, err)
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ready\nalive", p.stdout.rest())
}

func TestLockSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no path given"},
		{[]string{"--", "true"}, "no path given"},
		{[]string{path}, "no command given"},
		{[]string{path, "true"}, `the command comes after "--"`},
		{[]string{path, "and", "--", "true"}, `the command comes after "--"`},
		{[]string{path, "--"}, `no command after "--"`},
		{[]string{"locks/job", "--", "true"}, "does not start with a slash"},
		{[]string{"--try", "--wait", "1s", path, "--", "true"}, "--try and --wait contradict each other"},
		{[]string{"--wait", "0s", path, "--", "true"}, "--wait 0s: want more than 0"},
		{[]string{"--wait", "soon", path, "--", "true"}, `invalid value "soon" for flag --wait: want a number and a unit, such as 30s`},
		{[]string{"--wait"}, "needs an argument: --wait"},
		{[]string{"--kill-after", "-1s", path, "--", "true"}, "--kill-after -1s: want more than 0"},
		{[]string{path, "--kill-after", "3s", "--", "true"}, "--kill-after 3s: want at most 1.725s"},
		{[]string{"--session-timeout", "1ms", path, "--", "true"}, "--session-timeout 1ms: want between"},
		{[]string{"--session-timeout", "4s", "--tick", "3s", path, "--", "true"}, "want at least two ticks of 3s"},
		{[]string{"--connect", "zk1,,zk2", path, "--", "true"}, `--connect "zk1,,zk2": want host:port`},
		{[]string{"--no-such-flag", path, "--", "true"}, "unknown flag --no-such-flag; see zkr help lock"},
	} {
		code, out, errs := runHere(t, append([]string{"lock"}, c.args...)...)
		require.Equal(t, exitUsage, code, "%q: %s", c.args, errs)
		require.Contains(t, errs, c.want, "%q", c.args)
		require.Empty(t, out)
		require.Regexp(t, regexp.MustCompile(`^zkr: [^\n]*\n$`), errs, "one sentence")
	}
}
