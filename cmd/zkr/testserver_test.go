//go:build unix

package main

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTestserverPrintsItsAddressFirstAndEndsCleanly(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		server := zkr(t, "testserver", "--listen", "127.0.0.1:0")
		addr := <-server.stdout.lines
		_, _, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		server.stderr.await("it keeps nothing")
		client := zkr(t, "lock", "--connect", addr, path, "--", "echo", "ran")
		require.Equal(t, 0, client.exit())
		require.Equal(t, "ran", client.stdout.rest())
		server.signal(sig)
		require.Equal(t, 0, server.exit())
		require.Empty(t, server.stdout.rest(), "the address is all there is on stdout")
	}
}

func TestTestserverSettings(t *testing.T) {
	code, _, errs := runHere(t, "testserver", "--listen", "here")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, `--listen "here": want host:port`)
	code, _, errs = runHere(t, "testserver", "--tick", "0s")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--tick 0s: want at least 1ms")
	code, _, errs = runHere(t, "testserver", "--listen", "192.0.2.1:0")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "cannot assign requested address")
}
