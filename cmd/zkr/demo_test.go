//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemoShowsWhatItPromises(t *testing.T) {
	t.Parallel()
	p := zkr(t, "demo", "--session-timeout", "2s")
	code, out := p.exit(), p.stdout.rest()
	require.Equal(t, 0, code, out)
	require.Empty(t, p.stderr.rest())
	_, summary, found := strings.Cut(out, "What was shown\n")
	require.True(t, found)
	require.Equal(t, 7, strings.Count(summary, "shown  "), summary)
	require.NotContains(t, out, "\x1b", "no colours where there is no terminal")
}

func TestDemoThatCannotGoOnFailsAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	before := len(srv.Tree())
	p := zkr(t, "demo", "--connect", srv.ConnectString())
	p.stdout.await("2. The holder is stopped")
	p.signal(syscall.SIGINT)
	require.Equal(t, exitFailed, p.exit())
	require.Contains(t, p.stdout.rest(), "NOT SHOWN  leadership passed on")
	require.Equal(t, "zkr: interrupted", p.stderr.rest())
	require.Len(t, srv.Tree(), before)
}

func TestStoreRefusesOlderTokensOnly(t *testing.T) {
	var s store
	require.NoError(t, s.write(5, "a"))
	require.NoError(t, s.write(5, "b"), "a holder writes more than once")
	require.Error(t, s.write(4, "c"))
	require.Equal(t, "b", s.read())
	require.NoError(t, s.write(6, "d"))
	require.Equal(t, "d", s.read())
}

func TestSummaryFailsForWhatWasNotShown(t *testing.T) {
	var out strings.Builder
	s := &show{w: &out}
	s.promise("this").shown = true
	require.NoError(t, s.summary())
	s.promise("that")
	require.Error(t, s.summary())
	require.Contains(t, out.String(), "NOT SHOWN  that")
}
