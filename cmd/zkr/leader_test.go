//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func zkrLeader(t *testing.T, srv *zktest.Server, args ...string) *process {
	t.Helper()
	return zkr(t, append([]string{"leader", "--connect", srv.ConnectString(), path}, args...)...)
}

func TestLeaderPrintsTheIDAndNothingElse(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv), election.WithID("node 7"))
	p := zkrLeader(t, srv)
	require.Equal(t, 0, p.exit())
	require.Equal(t, "node 7", p.stdout.rest())
	require.Empty(t, p.stderr.rest())
}

func TestNoLeaderHasACodeOfItsOwn(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrLeader(t, srv)
	require.Equal(t, exitNoLeader, p.exit())
	require.Empty(t, p.stdout.rest())
	require.Equal(t, "zkr: no leader: /locks/job", p.stderr.rest())
}

func TestLeaderIDDoesNothingToATerminal(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv), election.WithID("a\x1b[2J\nb\r\u202ec"))
	p := zkrLeader(t, srv)
	require.Equal(t, 0, p.exit())
	require.Equal(t, "a\ufffd[2J\ufffdb\ufffd\ufffdc", p.stdout.rest())
}

func TestLeaderThatShowsNothingIsToldByItsZnode(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv), election.WithID(""))
	p := zkrLeader(t, srv)
	require.Equal(t, 0, p.exit())
	require.Equal(t, path+"/"+srv.Children(path)[0], p.stdout.rest())
}

func TestWatchTellsEachChangeUntilInterrupted(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrLeader(t, srv, "--watch")
	require.Empty(t, p.stdout.await(""), "nobody leads")
	client := dial(t, srv)
	for _, id := range []string{"first", "second"} {
		term := lead(t, client, election.WithID(id))
		require.Equal(t, id, p.stdout.await(""))
		resign(t, term)
		require.Empty(t, p.stdout.await(""))
	}
	p.signal(syscall.SIGINT)
	require.Equal(t, 128+int(syscall.SIGINT), p.exit())
	require.Empty(t, p.stderr.rest())
}

func TestWatchEndsWithItsReader(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := zkrCommand(t, "leader", "--connect", srv.ConnectString(), path, "--watch")
	cmd.Stdout = w
	require.Error(t, cmd.Run())
	require.NoError(t, w.Close())
	require.Equal(t, syscall.SIGPIPE, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

func TestLeaderSettings(t *testing.T) {
	for want, args := range map[string][]string{
		"want zkr leader [flags] PATH":        {"leader"},
		"does not start with a slash":         {"leader", "x"},
		"unknown flag --id":                   {"leader", "--id", "x", path},
		`invalid value "x" for flag --layout`: {"leader", "--layout", "x", path},
	} {
		code, out, errs := runHere(t, args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
		require.Empty(t, out)
	}
}
