package lock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Sources: CURATOR-396 (curator#916), gbif/pipelines#1164.
func TestHolderKilledHandsTheLockOverWithinTimeoutAndTwoTicks(t *testing.T) {
	const timeout = 2 * time.Second
	report := proof.New(t, "lock-killed-holder", "A holder killed by SIGKILL")
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	for range proof.Size(1, 10) {
		path := zkserver.Path(t)
		p := startHolder(t, s.Addr(), "-timeout", timeout.String())
		p.send("lock x " + path)
		first := p.await(belief.Granted, patience)
		next := w.lockLater(t, path)
		awaitQueued(t, w, path, 2)

		killed := belief.Now()
		p.Kill()
		h := mustHold(t, next, patience)
		took := w.grantedAt(h.Token()) - killed
		require.Greater(t, h.Token(), first.Interval.Token)
		report.Printf("T = %v, tick %v: the next has it after %v (bound %v)", timeout, tick, round(took), timeout+2*tick)
		require.NoError(t, h.Release(within(t, patience)))
	}
}

// Sources: CURATOR-206 (curator#727), samuel#20, kazoo#2.
func TestHolderFrozenPastItsLeaseSaysLostOnTheFirstLookAndCannotWrite(t *testing.T) {
	const timeout = 4 * time.Second
	report := proof.New(t, "lock-frozen-holder", "A holder frozen by SIGSTOP past T")
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	for range proof.Size(1, 10) {
		path, data := zkserver.Path(t), zkserver.Path(t)
		w.put(t, data, "before")
		p := startHolder(t, s.Addr(), "-timeout", timeout.String())
		p.send("lock x " + path)
		p.await(belief.Granted, patience)
		next := w.lockLater(t, path)
		awaitQueued(t, w, path, 2)
		p.send(fmt.Sprintf("txn x %s held", data))
		require.Empty(t, p.await(belief.Answered, patience).Err)

		require.NoError(t, p.Freeze())
		h := mustHold(t, next, patience)
		granted := w.grantedAt(h.Token())
		require.NoError(t, p.Thaw())

		over := p.await(belief.Over, patience)
		require.Less(t, over.Interval.Until, granted, "it was promised until after the next one had it")
		require.Less(t, over.Interval.To, granted, "a look after it woke up found it held")
		require.Contains(t, over.Interval.Err, recipes.ErrLost.Error())
		for _, write := range []string{"txn", "late"} {
			p.send(fmt.Sprintf("%s x %s stale", write, data))
			answer := p.await(belief.Answered, patience)
			require.NotEmpty(t, answer.Err, write)
			report.Printf("%s: %s", write, answer.Err)
		}
		require.Equal(t, "held", w.data(t, data))
		require.NoError(t, h.Err())
		report.Printf("T = %v: its lease ended %v before the next one had the lock", timeout, round(granted-over.Interval.Until))
		require.NoError(t, h.Release(within(t, patience)))
	}
}

// A write that was on its way when the lease ended, and arrives when somebody
// else holds: the server refuses it. Sources: vespa-engine/vespa PR#3340,
// CURATOR-544, accumulo#1086.
func TestWriteUnderwayWhenTheLeaseEndsIsRefusedByTheServer(t *testing.T) {
	const timeout = 4 * time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path, data := zkserver.Path(t), zkserver.Path(t)
	w.put(t, data, "before")
	p, err := s.NewProxy()
	require.NoError(t, err)
	c := dial(t, p.Addr(), timeout)
	h := c.lock(t, path)
	next := w.lockLater(t, path)
	awaitQueued(t, w, path, 2)

	p.ToServer().Stall()
	written := make(chan error, 1)
	go func() {
		_, err := h.Txn(within(t, patience), recipes.SetOp(data, []byte("stale"), -1))
		written <- err
	}()
	n := mustHold(t, next, patience)
	require.Less(t, h.seen.Interval().Until, w.grantedAt(n.Token()))
	p.Pass()
	require.Error(t, receive(t, "the write's end", written, patience))
	require.ErrorIs(t, h.Err(), recipes.ErrLost)
	receive(t, "the end of the session", h.Session().Done(), patience)
	// What the proxy held back went ahead of the next session's handshake.
	require.NoError(t, c.session(t).Barrier(within(t, patience)))
	require.Equal(t, "before", w.data(t, data))
	require.NoError(t, n.write(t, data, "after"))
	require.Equal(t, "after", w.data(t, data))
}

// write writes through the lease.
func (h hold) write(t *testing.T, path, data string) error {
	_, err := h.Txn(within(t, patience), recipes.SetOp(path, []byte(data), -1))
	return err
}
