package lock

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/queue"
)

// Errors of this package; those of sessions and leases are package recipes'.
var (
	// ErrLocked is returned by TryLock and TryRLock when somebody else is in the
	// way. It comes as a *LockedError.
	ErrLocked = errors.New("lock: locked")
	// ErrNotHeld is returned by Revoke when nobody holds the lock.
	ErrNotHeld = errors.New("lock: not held")
	// ErrPlaceLost is returned under WithStay where a place in the queue is lost
	// before its turn. Nothing was held.
	ErrPlaceLost = queue.ErrPlaceLost
	// ErrUpgrade is returned by RWMutex.Lock for who holds the lock for reading.
	ErrUpgrade = errors.New("lock: no upgrade from reading to writing: release the lease for reading first")
	// ErrNoDowngrade is returned by RWMutex.Downgrade where the place of a
	// writer cannot be passed on to a reader any more: sequence numbers have run
	// out.
	ErrNoDowngrade = errors.New("lock: no downgrade at the end of the sequence numbers")
)

// LimitError is returned where the participants of a semaphore disagree about
// its limit.
type LimitError struct {
	Path   string // of the semaphore
	Ours   int
	Stored string // what is agreed on: the data of its znode
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("lock: limit of semaphore %s is %d here, and agreed to be %.64q: use the same everywhere, or delete the znode when nobody uses it",
		e.Path, e.Ours, e.Stored)
}

// LockedError says who keeps a lock from being taken.
type LockedError struct {
	Path   string // of the lock
	Holder string // the znode of a contender in the way; Queue tells more about it
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%v: %s is held by %q", ErrLocked, e.Path, e.Holder)
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }
