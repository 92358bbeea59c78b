//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// on runs a command of zkr in this process, on a server.
func on(t *testing.T, srv *zktest.Server, command string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runHere(t, append([]string{command, "--connect", srv.ConnectString()}, args...)...)
}

// standing makes a contender of the given name, with an owner, without a lock.
func standing(t *testing.T, c *recipes.Client, dir, name, identity string) string {
	t.Helper()
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	if err := s.MakePersistent(t.Context(), dir, nil); err != nil {
		require.ErrorIs(t, err, recipes.ErrNodeExists)
	}
	made, err := s.Create(t.Context(), dir+"/"+name, []byte(identity), recipes.EphemeralSequential, nil)
	require.NoError(t, err)
	return made
}

// columns are the fields of each line of a table.
func columns(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

func TestQueueShowsWhoWaitsForWhom(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-__READ__", "r1")
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce32-__READ__", "r2")
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-__WRIT__", "w3")
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce34-__READ__", "r4")
	code, out, errs := on(t, srv, "queue", path)
	require.Equal(t, 0, code, errs)
	rows := columns(out)
	require.Equal(t, "/locks/job  rwlock, 2 hold, 2 wait", strings.Split(out, "\n")[0])
	var got []string
	for _, row := range rows[2:] {
		got = append(got, strings.Join([]string{row[0], row[1], row[2], row[6]}, " "))
	}
	require.Equal(t, []string{"1 holds r1 -", "2 holds r2 -", "3 waits w3 2", "4 waits r4 3"}, got)

	_, out, _ = on(t, srv, "queue", "--limit", "2", path)
	require.Contains(t, out, "and 2 more\n")
}

func TestQueueTellsEachKind(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv, recipes.WithIdentity("me"))
	lease := takeWith(t, c)
	lead(t, c, election.WithID("boss"))
	_, out, _ := on(t, srv, "queue", path)
	require.Contains(t, out, "1 do not belong there", "a candidate in a lock's directory, or the other way round")
	release(t, lease)
	_, out, _ = on(t, srv, "queue", path)
	require.Contains(t, out, "election, 1 hold, 0 wait")
	require.Contains(t, out, "boss")

	sem, err := lock.NewSemaphore(c, "/sem", 2)
	require.NoError(t, err)
	_, err = sem.AcquireN(t.Context(), 2)
	require.NoError(t, err)
	standing(t, c, "/sem/locks", "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-", "next")
	_, out, errs := on(t, srv, "queue", "/sem")
	require.Contains(t, out, "/sem  semaphore, 2 hold, 1 wait", errs)
	require.Contains(t, columns(out)[4], "room")

	standing(t, c, "/db", "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-x-member-", "party")
	_, out, _ = on(t, srv, "queue", "/db")
	require.Contains(t, out, "double barrier, 0 hold, 1 wait")

	for _, nothing := range []string{"/none", "/db/x"} {
		code, out, errs := on(t, srv, "queue", nothing)
		require.Equal(t, 0, code, errs)
		require.Equal(t, nothing+"  nobody holds it, nobody waits\n", out)
	}
}

func TestQueueForMachines(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	lease := take(t, srv, recipes.WithIdentity("me/1"))
	code, out, errs := on(t, srv, "queue", "--json", path)
	require.Equal(t, 0, code, errs)
	require.Equal(t, 1, strings.Count(out, "\n"))
	var got contenderJSON
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(out, `"age_seconds"`, `"age"`, 1)), &got))
	require.Equal(t, "me/1", got.Identity)
	require.Equal(t, lease.Token().String(), got.Token)
	require.Equal(t, fmt.Sprintf("%#x", uint64(lease.Session().ID())), got.Session)
	require.Equal(t, lease.Node(), got.Path+"/"+got.Contender)
	require.True(t, got.Holds)
	require.Regexp(t, `"age_seconds":\d+\.\d{3}`, out)
	release(t, lease)
	_, out, _ = on(t, srv, "queue", "--json", path)
	require.Empty(t, out)
}

func TestWhatServersSayDoesNothingToATerminal(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	dir := "/evil\u202etxt"
	standing(t, c, dir, "\u200b\u202e-lock-", "\x1b]0;owned\a\u009b2J\r\n"+strings.Repeat("long ", 1000))
	standing(t, c, dir, "stranger\u202e", "")
	for _, args := range [][]string{{"queue", dir}, {"queue", "--json", dir}, {"ls"}, {"ls", "--json"}} {
		code, out, errs := on(t, srv, args[0], args[1:]...)
		require.Equal(t, 0, code, errs)
		require.Contains(t, out, `\u202e`)
		requireHarmless(t, strings.ReplaceAll(out, "\n", ""))
	}
	_, _, errs := on(t, srv, "ls", dir+"/none")
	require.Contains(t, errs, `\u202e`)
	requireHarmless(t, strings.ReplaceAll(errs, "\n", ""))
}

func TestLsFindsWhatThereIsBelowAPath(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv, recipes.WithIdentity("me"))
	lease := takeWith(t, c)
	standing(t, c, "/app/a/leader", "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-latch-", "boss")
	standing(t, c, "/app/b/rw", "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-__WRIT__", "w")
	require.NoError(t, srv.Create("/app/locks", nil)) // only bears the name
	require.NoError(t, srv.Create("/app/leases", nil))
	require.NoError(t, srv.Create("/app/leases/config", nil))
	code, out, errs := on(t, srv, "ls")
	require.Equal(t, 0, code, errs)
	rows := columns(out)
	require.Len(t, rows, 4)
	require.Equal(t, []string{"election", "1", "0", "boss"}, rows[1][:4])
	require.Equal(t, "/app/a/leader", rows[1][6])
	require.Equal(t, []string{"rwlock", "1", "0", "w"}, rows[2][:4])
	require.Equal(t, []string{"mutex", "1", "0", "me", lease.Token().String()}, rows[3][:5])
	_, out, _ = on(t, srv, "ls", "--json", "/locks")
	require.Contains(t, out, `{"path":"/locks/job","kind":"mutex","holding":1,"waiting":0,"strangers":0,"first":{`)
	code, _, errs = on(t, srv, "ls", "/none")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "znode does not exist")
}

func TestLsGoesOnPastWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/a-secret", nil, recipes.Persistent, recipes.DigestACL(recipes.PermAll, "ann", "pw"))
	require.NoError(t, err)
	takeWith(t, c)
	code, out, errs := on(t, srv, "ls")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "/a-secret")
	require.Contains(t, errs, "1 directories could not be read")
	require.Contains(t, out, path)
}

// The cost of a long queue is one listing and one contender.
func TestLsReadsOneContenderHoweverManyWait(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	standing(t, c, path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-", "me")
	const many = 2000
	for i := range many {
		require.NoError(t, srv.Create(fmt.Sprintf("%s/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-%010d", path, i+1), nil))
	}
	srv.ResetRequests()
	code, out, errs := on(t, srv, "ls")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, fmt.Sprintf(" %d ", many))
	require.LessOrEqual(t, srv.Requests(zktest.OpGetData, 0), 2, "the first contender and the base of tokens")
}
