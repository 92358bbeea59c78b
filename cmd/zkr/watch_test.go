//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestWatchPrintsALineForEachChange(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv, recipes.WithIdentity("me"))
	for sig, args := range map[syscall.Signal][]string{syscall.SIGINT: {}, syscall.SIGTERM: {"--json"}} {
		held, free, gone := "held by me (token ", "nobody holds it, nobody waits", noConnection
		if len(args) > 0 {
			held, free, gone = `"holding":1`, `"holding":0`, `"outage":true`
		}
		p := zkr(t, append([]string{"watch", "--connect", srv.ConnectString(), path}, args...)...)
		p.stdout.await(free)
		lease := takeWith(t, c)
		p.stdout.await(held)
		next := standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "next")
		p.stdout.await("wait" + map[bool]string{true: `ing":1`}[len(args) > 0])
		require.NoError(t, srv.Delete(next))
		release(t, lease)
		p.stdout.await(free)
		srv.Down()
		p.stdout.await(gone)
		require.NoError(t, srv.Up())
		p.stdout.await(free)
		p.signal(sig)
		require.Equal(t, 128+int(sig), p.exit())
		require.Empty(t, p.stderr.rest())
		require.NotContains(t, p.stdout.rest(), "\x1b")
	}
}

func TestWatchSeesPermitsComeAndGo(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv, recipes.WithIdentity("me"))
	sem, err := lock.NewSemaphore(c, path, 2)
	require.NoError(t, err)
	lease, err := sem.Acquire(t.Context())
	require.NoError(t, err)
	p := zkr(t, "watch", "--connect", srv.ConnectString(), path)
	p.stdout.await("semaphore, 1 hold, 0 wait")
	_, err = sem.Acquire(t.Context())
	require.NoError(t, err)
	p.stdout.await("semaphore, 2 hold, 0 wait")
	release(t, lease)
	p.stdout.await("semaphore, 1 hold, 0 wait")
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+int(syscall.SIGTERM), p.exit())
}

func TestWatchSeesThatTheHolderWasAsked(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv, recipes.WithIdentity("me"))
	p := zkr(t, "watch", "--connect", srv.ConnectString(), path)
	p.stdout.await("held by me")
	code, _, errs := on(t, srv, "revoke", path)
	require.Equal(t, 0, code, errs)
	p.stdout.await("held by (asked to give it back)")
	p.signal(syscall.SIGTERM)
	p.exit()
	require.Equal(t, 2, strings.Count(p.stdout.rest(), "\n")+1, "a line for each change")
}
