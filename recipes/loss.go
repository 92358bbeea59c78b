package recipes

import "errors"

// Loss is why a lease was lost, in one of a few words: for whom the reasons are
// to be counted. The Cause of a LostError says it in full.
type Loss string

// Why leases are lost.
const (
	// LossUnproven: connected, but no write was committed in time. This process
	// was paused, or the servers had no quorum.
	LossUnproven Loss = "unproven"
	// LossDisconnected: no server was reached for too long.
	LossDisconnected Loss = "disconnected"
	// LossExpired: the servers ended the session, or somebody else did.
	LossExpired Loss = "expired"
	// LossDeleted: somebody else deleted the lease's znode.
	LossDeleted Loss = "deleted"
	// LossSuspended: the connection was in doubt, see WithStopOnSuspend.
	LossSuspended Loss = "suspended"
	// LossClosed: the client was closed while it held the lease.
	LossClosed Loss = "closed"
)

// Losses returns all that a Loss can be.
func Losses() []Loss {
	return []Loss{LossUnproven, LossDisconnected, LossExpired, LossDeleted, LossSuspended, LossClosed}
}

// Loss says in one word why the lease was lost.
func (e *LostError) Loss() Loss {
	for _, of := range []struct {
		err  error
		loss Loss
	}{
		{ErrClosed, LossClosed}, // which is the end of the session too
		{ErrSessionExpired, LossExpired},
		{errNodeGone, LossDeleted},
		{errSuspended, LossSuspended},
		{errDisconnected, LossDisconnected},
	} {
		if errors.Is(e.Cause, of.err) {
			return of.loss
		}
	}
	return LossUnproven
}
