package election_test

import (
	"cmp"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	// tick is the servers' tickTime in all tests.
	tick = 500 * time.Millisecond
	// timeout is T, the session timeout of all candidates.
	timeout = 2 * time.Second
	// patience bounds against hanging what takes seconds.
	patience = 60 * time.Second
)

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// dial gives a client of this process.
func dial(t testing.TB, connect string) *recipes.Client {
	t.Helper()
	c, err := recipes.Dial(within(t, patience), connect, recipes.WithSessionTimeout(timeout),
		recipes.WithTickTime(tick), recipes.WithPersistentParents())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// candidates starts a process that stands in elections of this library.
func candidates(t testing.TB, connect string) *peers.Peer {
	t.Helper()
	bin := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/election/internal/candidate")
	return peers.Program(t, exec.Command(bin, "-connect", connect, "-timeout", timeout.String(), "-tick", tick.String()))
}

// awaitQueue waits until n candidates stand in an election.
func awaitQueue(t testing.TB, e *election.Election, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := e.Candidates(within(t, patience))
		return err == nil && len(all) == n
	}, patience, 5*time.Millisecond, "%d candidates", n)
}

// round shortens a duration for people.
func round(d time.Duration) time.Duration {
	return d.Round(cmp.Or(min(d.Abs()/1000, time.Millisecond), 1))
}
