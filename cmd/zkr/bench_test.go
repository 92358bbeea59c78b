//go:build unix

package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// requireClean waits until nothing of a measurement is left but the sessions' end.
func requireClean(t *testing.T, srv *zktest.Server) {
	t.Helper()
	for _, z := range srv.Tree() {
		require.NotContains(t, z.Path, "zkr-bench-")
	}
	require.Eventually(t, func() bool { return len(srv.Sessions()) == 0 }, patience, session/100)
}

// transactions returns how many there were since the token of before.
func transactions(t *testing.T, srv *zktest.Server, before uint64) uint64 {
	t.Helper()
	l := take(t, srv)
	defer l.Session().Client().Close()
	return uint64(l.Token()) - before
}

func TestBenchMeasuresWhatItSaysInAsManyWritesAsItSaysAndLeavesNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	before := transactions(t, srv, 0)
	code, out, errs := runHere(t, "bench", "--connect", srv.ConnectString(), "--rounds", "20", "--json")
	require.Equal(t, 0, code, errs)
	require.Contains(t, errs, "zkr: bench: about 180 small writes, one at a time, in /zkr-bench-")
	require.InDelta(t, 180, transactions(t, srv, before), 20, "with sessions, directories and their end")
	var cases []string
	for line := range strings.Lines(out) {
		var row benchJSON
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.Equal(t, 20, row.Rounds)
		require.Positive(t, row.P50)
		require.LessOrEqual(t, row.P50, row.P95)
		require.LessOrEqual(t, row.P95, row.P99)
		require.LessOrEqual(t, row.P99, row.Max)
		require.Equal(t, row.Case == "lock", row.Floors > 0)
		cases = append(cases, row.Case)
	}
	require.Equal(t, []string{"write", "floor", "lock", "hand-over"}, cases)
	requireClean(t, srv)
}

func TestBenchForPeople(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	code, out, errs := runHere(t, "bench", "--connect", srv.ConnectString(), "--rounds", "3")
	require.Equal(t, 0, code, errs)
	require.Regexp(t, `(?s)^ +ROUNDS  +P50 .*\nwrite +3 .*\nfloor +3 .*\nlock +3 .* of the floor\nhand-over +3 .* ms\s*\n$`, out)
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len(line), 80)
	}
}

func TestBenchStopsInTimeAndSaysWhatItHas(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	code, out, errs := runHere(t, "bench", "--connect", srv.ConnectString(), "--rounds", strconv.Itoa(mostRounds), "--for", "300ms")
	require.Equal(t, 0, code, errs)
	require.Contains(t, errs, "stopped after 300ms, before all 10000 rounds")
	require.Contains(t, out, "write ")
	requireClean(t, srv)
}

func TestBenchThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkr(t, "bench", "--connect", srv.ConnectString(), "--rounds", strconv.Itoa(mostRounds))
	p.stderr.await("small writes")
	require.Eventually(t, func() bool { return len(srv.Sessions()) == 1 && len(srv.Children("/")) > 1 }, patience, time.Millisecond)
	p.signal(syscall.SIGINT)
	require.Equal(t, 128+int(syscall.SIGINT), p.exit())
	require.Empty(t, p.stdout.rest())
	requireClean(t, srv)
}

// The directory may be there before its maker has been told so.
func TestBenchThatIsInterruptedWhileItsDirectoryIsMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	srv.On(zktest.Match{Op: zktest.OpCreateContainer}).DelayReply(session / 5)
	p := zkr(t, "bench", "--connect", srv.ConnectString())
	require.Eventually(t, func() bool { return len(srv.Children("/")) > 1 }, patience, time.Millisecond)
	p.signal(syscall.SIGINT)
	require.Equal(t, 128+int(syscall.SIGINT), p.exit())
	requireClean(t, srv)
}

func TestBenchThatIsKilledLeavesAContainerThatGoesByItself(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p := zkr(t, "bench", "--connect", srv.ConnectString(), "--rounds", strconv.Itoa(mostRounds), "--session-timeout", session.String())
	p.stderr.await("small writes")
	require.Eventually(t, func() bool { return len(srv.Children("/")) > 1 }, patience, time.Millisecond)
	p.signal(syscall.SIGKILL)
	p.exit()
	require.Eventually(t, func() bool { return len(srv.Sessions()) == 0 }, patience, session/100)
	for _, z := range srv.Tree() {
		if strings.Contains(z.Path, "zkr-bench-") {
			require.True(t, z.Container, z.Path)
		}
	}
}

func TestBenchStopsWhereTheEnsembleHasNoRoomForIt(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	srv.On(zktest.Match{Op: zktest.OpSetData}).DelayReply(session / 3)
	code, out, errs := runHere(t, "bench", "--connect", srv.ConnectString(), "--session-timeout", session.String())
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, "more than a tenth of the session timeout: the ensemble has no room for a measurement")
	requireClean(t, srv)
}

func TestBenchRefusesWhatWouldBeALoadTestOrNoPlaceForIt(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--rounds 10001: want 10000 at most": {"--rounds", "10001"},
		"--for 0s: want more than 0":         {"--for", "0s"},
		"--under: ":                          {"--under", "x"},
		"bench takes no arguments":           {"/x"},
	} {
		code, _, errs := runHere(t, append([]string{"bench", "--connect", "127.0.0.1:1"}, args...)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
	}
	srv := serve(t)
	code, _, errs := runHere(t, "bench", "--connect", srv.ConnectString(), "--under", "/none")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "znode does not exist")
}
