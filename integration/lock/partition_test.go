package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

// A server that is cut off from the others goes on answering pings and reads
// for up to syncLimit ticks: here that is longer than the session lives.
func TestLeaseOfAHolderPinnedToAServerCutOffEndsBeforeTheNextGrant(t *testing.T) {
	parallel(t)
	timeout := proof.Size(2*time.Second, 4*time.Second)
	report := proof.New(t, "lock-cut-off-pinned", "A holder pinned to a server that is cut off from the other two")
	e := startTrio(t, map[string]string{"syncLimit": proof.Size("6", "10")})
	for range proof.Size(1, 5) {
		for _, role := range []string{follower, leader} {
			e.roles(t)
			at := e.in(role)
			all := contend(t, proof.Size(2, 8),
				func() *client { return dial(t, at.Addr(), timeout) },
				func() *client { return dial(t, e.except(at), timeout) })
			awaitSteady(t, all)
			e.Isolate(at)
			gaps(t, report, role+" cut off", all)
		}
	}
}

// The outage of a deposed leader must be shorter than what is left of a lease:
// the followers give it up after syncLimit ticks, 1 s here, and elect another.
func TestHolderThatIsFreeToMoveKeepsItsLeaseWhenItsServerIsCutOff(t *testing.T) {
	parallel(t)
	timeout := proof.Size(8*time.Second, 10*time.Second)
	report := proof.New(t, "lock-cut-off-free", "A holder that is free to move, at a server that is cut off from the other two")
	e := startTrio(t, map[string]string{"syncLimit": "2"})
	for range proof.Size(1, 5) {
		for _, role := range []string{follower, leader} {
			e.roles(t)
			at := e.in(role)
			all := contend(t, proof.Size(2, 8),
				func() *client { return e.dialAt(t, at, timeout) },
				func() *client { return dial(t, e.except(at), timeout) })
			awaitSteady(t, all)
			e.Isolate(at)
			cut := belief.Now()
			// Past the end of every lease that was not renewed since the cut.
			for belief.Now() < cut+timeout {
				for _, r := range all {
					receive(t, "a renewal", r.holder.renewed, patience)
				}
			}
			for _, r := range all {
				require.NoError(t, r.held.Verify(within(t, patience)))
				require.Empty(t, r.next, "the lock was given away")
				require.NoError(t, r.held.Release(within(t, patience)))
				n := mustHold(t, r.next, patience)
				require.Greater(t, n.Token(), r.held.Token())
			}
			report.Printf("%s cut off: %d holders moved and held for %v after the cut", role, len(all), since(cut))
		}
	}
}
