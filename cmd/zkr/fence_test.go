//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func fenceHere(t *testing.T, srv *zktest.Server, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runHere(t, append([]string{"fence", "--connect", srv.ConnectString()}, args...)...)
}

// The way out for an ensemble that was wiped, as an operator goes it.
func TestFenceIsSeenToBeAheadAndTheBaseIsRaised(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	const standing = fence.Token(1 << 33)
	code, out, errs := fenceHere(t, srv, "show", "--standing", standing.String(), path)
	require.Equal(t, exitAhead, code)
	require.Regexp(t, `^/locks/job base 0 token \d+\n$`, out)
	require.Contains(t, errs, "zkr: /locks/job: 8589934592 is ahead of the ensemble")

	code, out, errs = fenceHere(t, srv, "raise", "--at-least", standing.String(), path, "/locks/other")
	require.Equal(t, 0, code, errs)
	require.Equal(t, "/locks/job base 8589934592 was 0\n/locks/other base 8589934592 was 0\n", out)
	code, out, errs = fenceHere(t, srv, "raise", "--at-least", "5", path)
	require.Equal(t, 0, code, errs)
	require.Equal(t, "/locks/job base 8589934592 was 8589934592\n", out, "it is never lowered")

	code, out, errs = fenceHere(t, srv, "show", "--standing", standing.String(), path)
	require.Equal(t, 0, code, errs)
	var now fence.Token
	_, err := fmt.Sscanf(out, "/locks/job base 8589934592 token %d\n", &now)
	require.NoError(t, err)
	lease := take(t, srv)
	require.Greater(t, lease.Token(), now)
	require.Greater(t, now, standing)
	release(t, lease)
}

func TestFenceTellsOfEachPath(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	require.NoError(t, srv.Create("/bad.fence", []byte("x")))
	code, out, errs := fenceHere(t, srv, "show", "/bad", "/good")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "/good base 0 token ")
	require.NotContains(t, out, "/bad")
	require.Contains(t, errs, "/bad.fence")
}

func TestFenceSettings(t *testing.T) {
	for want, args := range map[string][]string{
		"want zkr fence show|raise":             {"fence", "show"},
		"unknown fence command \"lower\"":       {"fence", "lower", path},
		"fence show takes no --at-least":        {"fence", "show", "--at-least", "5", path},
		"fence raise wants --at-least":          {"fence", "raise", path},
		"and no --standing":                     {"fence", "raise", "--at-least", "5", "--standing", "5", path},
		"does not start with a slash":           {"fence", "show", "x"},
		"it ends in .fence":                     {"fence", "show", path + ".fence"},
		"invalid value \"-1\" for flag --at-le": {"fence", "raise", "--at-least", "-1", path},
		"invalid value \"x\" for flag --standi": {"fence", "show", "--standing", "x", path},
	} {
		code, out, errs := runHere(t, args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
		require.Empty(t, out)
	}
}
