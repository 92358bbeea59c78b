//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestRevokeAsksEveryHolder(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv, recipes.WithIdentity("me"))
	rw, err := lock.NewRWMutex(c, path)
	require.NoError(t, err)
	var leases []*recipes.Lease
	for range 2 {
		l, err := rw.RLock(t.Context())
		require.NoError(t, err)
		leases = append(leases, l)
	}
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-__WRIT__", "waits")
	code, out, errs := on(t, srv, "revoke", path)
	require.Equal(t, 0, code, errs)
	require.Equal(t, 2, strings.Count(out, "asked me, token "))
	for _, l := range leases {
		select {
		case <-l.Revoked():
		case <-time.After(patience):
			require.FailNow(t, "not revoked")
		}
	}
	_, out, _ = on(t, srv, "queue", path)
	require.Equal(t, 2, strings.Count(out, "(asked to give it back)"))
	require.Contains(t, out, "waits")
}

func TestRevokeWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	code, _, errs := on(t, srv, "revoke", path)
	require.Equal(t, exitNoHolder, code)
	require.Contains(t, errs, "nobody holds /locks/job")
	lead(t, dial(t, srv))
	code, _, errs = on(t, srv, "revoke", path)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "(election): nobody can be asked")
}

func TestBreakDeletesTheOneThatItWasTold(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	lease := takeWith(t, c)
	other := standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "waits")
	code, out, errs := on(t, srv, "break", path, "--contender", nameOf(other), "--yes")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, nameOf(other))
	require.Contains(t, out, "waits waits for /locks/job, token ")
	require.True(t, strings.HasSuffix(out, "\ndeleted\n"), out)
	require.Equal(t, []string{nameOf(lease.Node())}, srv.Children(path))
	require.NoError(t, lease.Err())

	code, _, errs = on(t, srv, "break", path, "--contender", nameOf(other), "--yes")
	require.Equal(t, exitNoHolder, code)
	require.Contains(t, errs, "/locks/job has no contender _c_2c55")
	code, _, _ = on(t, srv, "break", path, "--contender", nameOf(lease.Node()), "--yes")
	require.Equal(t, 0, code)
	<-lease.Done()
}

func TestBreakTakesTheNameAsItIsShown(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	evil := standing(t, c, path, "\u202e-lock-", "")
	code, out, errs := on(t, srv, "break", path, "--contender", plain(nameOf(evil)), "--yes")
	require.Equal(t, 0, code, errs)
	requireHarmless(t, strings.ReplaceAll(out, "\n", ""))
	require.Empty(t, srv.Children(path))
}

func TestBreakLeavesAloneWhatHasChanged(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	victim := standing(t, dial(t, srv), path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "me")
	// Between the last look and the deletion.
	srv.On(zktest.Match{Op: zktest.OpDelete, Path: victim}).Call(func(zktest.Request) {
		require.NoError(t, srv.SetData(victim, []byte("other")))
	})
	code, _, errs := on(t, srv, "break", path, "--contender", nameOf(victim), "--yes")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "has changed since it was shown")
	require.Len(t, srv.Children(path), 1)
}

func TestBreakWhoseAnswerIsLostKnowsWhatItHasDone(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	for name, hook := range map[string]func(*zktest.Hook) *zktest.Hook{
		"reply lost": (*zktest.Hook).DropReply, "request lost": (*zktest.Hook).DropBeforeCommit,
	} {
		victim := standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "me")
		hook(srv.On(zktest.Match{Op: zktest.OpDelete, Path: victim}))
		code, _, errs := on(t, srv, "break", path, "--contender", nameOf(victim), "--yes")
		require.Equal(t, 0, code, "%s: %s", name, errs)
		require.Empty(t, srv.Children(path))
	}
}

func TestBreakAsksNobodyWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	victim := standing(t, dial(t, srv), path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "me")
	code, _, errs := on(t, srv, "break", path, "--contender", nameOf(victim))
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "no terminal to ask on: want --yes")
	require.Len(t, srv.Children(path), 1)
}

func TestInspectionSettings(t *testing.T) {
	for want, args := range map[string][]string{
		"want zkr queue [flags] PATH":           {"queue"},
		"want a number of at least 1":           {"queue", "--limit", "0", path},
		"want zkr ls [flags] [PATH]":            {"ls", path, path},
		"does not start with a slash":           {"ls", "x"},
		"want zkr revoke [flags] PATH":          {"revoke"},
		`--contender "": want the NAME of a`:    {"break", path, "--yes"},
		`--contender "a/b": want the NAME of a`: {"break", path, "--yes", "--contender", "a/b"},
	} {
		code, out, errs := runHere(t, args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, errs, want)
		require.Empty(t, out)
	}
}
