//go:build unix

package main

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// zkrElect starts zkr elect on a server, with a short session.
func zkrElect(t *testing.T, srv *zktest.Server, args ...string) *process {
	t.Helper()
	return zkr(t, append([]string{"elect", "--connect", srv.ConnectString(), "--session-timeout", session.String(), path}, args...)...)
}

// lead has a client of the test's own lead.
func lead(t *testing.T, c *recipes.Client, opts ...election.Option) *election.Term {
	t.Helper()
	e, err := election.New(c, path, opts...)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	term, err := e.Campaign(ctx)
	require.NoError(t, err)
	return term
}

func resign(t *testing.T, term *election.Term) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, term.Resign(ctx))
}

func awaitCandidates(t *testing.T, srv *zktest.Server, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(srv.Children(path)) == n }, patience, session/100)
}

// token reads a token that a command has printed.
func token(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(line)
	require.NoError(t, err)
	return n
}

func TestElectGivesTheCommandTokenAndPath(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrElect(t, srv, "--once", "--", "sh", "-c", "echo $ZKR_FENCING_TOKEN; echo $ZKR_ELECTION_PATH")
	require.Equal(t, 0, p.exit())
	out := strings.Split(p.stdout.rest(), "\n")
	require.Positive(t, token(t, out[0]))
	require.Equal(t, []string{path}, out[1:], "stdout is the command's alone")
	require.Empty(t, srv.Children(path), "the place was given up")
}

func TestCommandThatIsDoneGivesTheOthersATurn(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	const turn = "echo $ZKR_FENCING_TOKEN; read line" // the next line has the next turn
	a := zkrElect(t, srv, "--id", "a", "--", "sh", "-c", turn)
	first := a.stdout.await("")
	b := zkrElect(t, srv, "--id", "b", "--", "sh", "-c", turn)
	require.Contains(t, b.stderr.await("is led by"), `/locks/job is led by "a", which came `)
	awaitCandidates(t, srv, 2)
	_, err := a.stdin.Write([]byte("go on\n"))
	require.NoError(t, err)
	second := b.stdout.await("")
	require.Contains(t, a.stderr.await("is led by"), `"b"`, "it stands for election again")
	_, err = b.stdin.Write([]byte("go on\n"))
	require.NoError(t, err)
	third := a.stdout.await("")
	require.IsIncreasing(t, []int{token(t, first), token(t, second), token(t, third)})
}

func TestCommandThatFailsEndsTheCandidacy(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	for script, want := range map[string]int{"exit 3": 3, "kill -KILL $$": 137} {
		p := zkrElect(t, srv, "--", "sh", "-c", script)
		require.Equal(t, want, p.exit(), script)
		require.Empty(t, srv.Children(path), "the place was given up")
	}
}

func TestCommandWithNothingToDoIsNotStartedWithoutEnd(t *testing.T) {
	t.Parallel()
	// A first lease lasts T/8 until it is proven: on a busy machine a short T leaves no
	// time to run anything.
	p := zkrElect(t, serve(t), "--session-timeout", "20s", "--", "echo", "done")
	started := time.Now()
	for range 3 {
		p.stdout.await("done")
	}
	require.GreaterOrEqual(t, time.Since(started), shortest)
	p.signal(syscall.SIGTERM)
	require.Contains(t, []int{0, 128 + int(syscall.SIGTERM)}, p.exit(), "also between two terms")
}

func TestLostLeadershipStopsTheCommandAndIsStoodForAgain(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrElect(t, srv, "--", "sh", "-c", "echo $ZKR_FENCING_TOKEN; "+stubborn)
	first := p.stdout.await("")
	p.stdout.await("ready")
	require.NoError(t, srv.Delete(path+"/"+srv.Children(path)[0]))
	require.Greater(t, token(t, p.stdout.await("")), token(t, first))
	p.stdout.await("ready")
	require.Regexp(t, "lease lost: .*; standing for election again", p.stderr.await("again"))
	p.signal(syscall.SIGKILL)
	require.NotContains(t, p.stdout.rest(), "over", "the first was killed")
}

func TestCommandIsDeadBeforeAnotherLeads(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	out, script := ownStream(t, stubborn)
	p := zkrElect(t, srv, script...)
	out.await("ready")
	victim := srv.Sessions()[0].ID
	next := dial(t, srv) // is connected before nobody can connect any more
	require.NoError(t, srv.Refuse(true))
	srv.Blackhole(victim, zktest.ToServer|zktest.ToClient)
	term := lead(t, next)
	elected := time.Now()
	require.NoError(t, term.Err())
	out.awaitEnd()
	require.True(t, out.at.Before(elected), "the command outlived its term by %v", out.at.Sub(elected))
	require.NoError(t, srv.Refuse(false))
	p.stderr.await("is led by") // connected again, it stands for election again
}

func TestElectOnceEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrElect(t, srv, "--once", "--", "sh", "-c", stubborn)
	p.stdout.await("ready")
	require.NoError(t, srv.Delete(path+"/"+srv.Children(path)[0]))
	require.Equal(t, exitLost, p.exit())
	require.Empty(t, srv.Children(path))
}

func TestSignalThatEndsTheCommandEndsTheCandidacy(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		p := zkrElect(t, srv, "--", "sh", "-c", "trap 'exit 0' TERM INT QUIT; echo ready; "+forLong)
		p.stdout.await("ready")
		p.signal(sig)
		require.Equal(t, 0, p.exit(), "%v: as the command did", sig)
		require.Empty(t, srv.Children(path))
	}
}

func TestHangupIsTheCommandsToInterpret(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkrElect(t, srv, "--", "sh", "-c", "trap 'echo read again; exit 0' HUP; echo ready; "+forLong)
	for range 2 {
		p.stdout.await("ready")
		p.signal(syscall.SIGHUP)
		p.stdout.await("read again")
	}
}

func TestSignalEndsTheCampaign(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := zkrElect(t, srv, "--", "echo", "ran")
		p.stderr.await("is led by")
		p.signal(sig)
		require.Equal(t, 128+int(sig), p.exit())
		require.Empty(t, p.stdout.rest())
		require.Len(t, srv.Children(path), 1)
	}
}

func TestElectGivesUpAfterWait(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv), election.WithID("the leader"))
	p := zkrElect(t, srv, "--wait", "1s", "--", "echo", "ran")
	require.Equal(t, exitNotAcquired, p.exit())
	require.Empty(t, p.stdout.rest())
	require.Contains(t, p.stderr.rest(), `not elected at /locks/job within 1s: at position 1, held by "the leader"`)
	require.Len(t, srv.Children(path), 1, "the queue was left")
}

// As election.Election.Run, whose loop this is.
func TestElectGoesOnAfterWhatPassesAndEndsAfterWhatStays(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lead(t, dial(t, srv)).Resign(t.Context()) // makes the directory
	srv.On(zktest.Match{Path: path + "/_c_*-latch-"}).Times(2).Error(zktest.Throttled)
	p := zkrElect(t, srv, "--once", "--", "echo", "ran")
	p.stderr.await("campaign failed: ")
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ran", p.stdout.rest())

	srv.On(zktest.Match{Path: path + "/_c_*-latch-"}).Error(zktest.InvalidACL)
	p = zkrElect(t, srv, "--", "echo", "ran")
	require.Equal(t, exitFailed, p.exit())
	require.Contains(t, p.stderr.rest(), "invalid ACL")
}

func TestLayoutsNameCandidatesAsPeersDo(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		"latch":    `^_c_[-0-9a-f]{36}-latch-\d{10}$`,
		"selector": `^_c_[-0-9a-f]{36}-lock-\d{10}$`,
		"kazoo":    `^\S+__lock__\d{10}$`,
	} {
		srv := serve(t)
		p := zkrElect(t, srv, "--layout", layout, "--id", "me", "--", "sh", "-c", stubborn)
		p.stdout.await("ready")
		require.Regexp(t, want, srv.Children(path)[0])
		asked := zkr(t, "leader", "--connect", srv.ConnectString(), "--layout", layout, path)
		require.Equal(t, 0, asked.exit())
		require.Equal(t, "me", asked.stdout.rest())
	}
}

func TestElectSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no path given: want zkr elect"},
		{[]string{path}, "no command given: want zkr elect"},
		{[]string{path, "true"}, `the command comes after "--"`},
		{[]string{"elections/job", "--", "true"}, "does not start with a slash"},
		{[]string{"--wait", "0s", path, "--", "true"}, "--wait 0s: want more than 0"},
		{[]string{"--kill-after", "-1s", path, "--", "true"}, "--kill-after -1s: want more than 0"},
		{[]string{"--layout", "lath", path, "--", "true"}, `invalid value "lath" for flag --layout: want latch, selector or kazoo`},
		{[]string{"--try", path, "--", "true"}, "unknown flag --try; see zkr help elect"},
	} {
		code, out, errs := runHere(t, append([]string{"elect"}, c.args...)...)
		require.Equal(t, exitUsage, code, "%q: %s", c.args, errs)
		require.Contains(t, errs, c.want, "%q", c.args)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one sentence")
	}
}
