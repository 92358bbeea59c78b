package lock

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Mutex is a fair mutual exclusion lock over processes and machines. It is safe
// for concurrent use, and not re-entrant: goroutines of one process contend like
// strangers.
type Mutex struct {
	q *queue.Queue
	s settings
}

// NewMutex returns the lock at path. It makes nothing at the server yet. Nothing
// else may live in path; guarded data belongs elsewhere.
func NewMutex(c *recipes.Client, path string, opts ...MutexOption) (*Mutex, error) {
	q, err := queue.New(c, path, queue.Mutex)
	if err != nil {
		return nil, err
	}
	m := &Mutex{q: q}
	for _, o := range opts {
		if o == nil {
			return nil, errNilOption
		}
		o.applyMutex(&m.s)
	}
	if err := m.s.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// Path returns the lock's path.
func (m *Mutex) Path() string { return m.q.Dir() }

// Lock waits for its turn and returns a lease that is held. ctx bounds the wait;
// it has no bearing on the lease.
//
// If ctx ends first, Lock returns its error, once it stands in the queue as a
// *recipes.WaitError that says who was first there; its own place is given up, in
// the background where the server does not answer. If the lock is granted in the
// same instant, one of the two happens, never both. A context that has ended
// before fails even where the lock is free.
func (m *Mutex) Lock(ctx context.Context) (*recipes.Lease, error) {
	return m.q.Acquire(ctx, m.s.request(m.q, m.s.mutexTag()))
}

// TryLock takes the lock if nobody holds or awaits it, and returns a
// *LockedError otherwise. Where it finds a contender at its first look it writes
// nothing.
func (m *Mutex) TryLock(ctx context.Context) (*recipes.Lease, error) {
	return m.s.try(ctx, m.q, m.s.mutexTag())
}

// Do runs fn while it holds the lock, and releases it when fn has returned.
// fn's context ends with ctx, and some time before the lease does: see
// recipes.WithStopGrace. Do returns fn's error, joined with ErrLost if the lease
// was lost, also where fn returned nil.
func (m *Mutex) Do(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// Queue returns the contenders, the holder first: a view that may have changed
// by the time it is returned. It costs a read for each of them, and writes
// nothing. Identities come from the servers and are not to be trusted.
func (m *Mutex) Queue(ctx context.Context) ([]recipes.Contender, error) { return m.q.List(ctx) }

// Revoke asks the holder to give the lock back, as Curator's Revoker does. The
// holder finds its Lease.Revoked closed, and may ignore it. The holder's
// identity is overwritten by that. It returns ErrNotHeld where nobody holds the
// lock, and recipes.ErrOutcomeUnknown where the answer is lost: to ask again may
// be to ask the next holder.
func (m *Mutex) Revoke(ctx context.Context) error {
	ok, err := m.q.Revoke(ctx)
	if err == nil && !ok {
		return fmt.Errorf("%w: %s", ErrNotHeld, m.Path())
	}
	return err
}
