package lock

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// RWMutex is a fair reader/writer lock over processes and machines: any number
// of readers, or one writer. Who comes first is served first, so that readers
// behind a waiting writer wait too. It is safe for concurrent use, and not
// re-entrant.
//
// Its znodes are those of Curator's InterProcessReadWriteLock; contenders of
// kazoo's ReadLock and WriteLock are counted too.
//
// A reader's token may be checked at a resource, and must never be installed
// there: it says nothing about the writers after it.
type RWMutex struct {
	q *queue.Queue
	s settings
}

// NewRWMutex returns the lock at path. It makes nothing at the server yet.
// Nothing else may live in path.
func NewRWMutex(c *recipes.Client, path string, opts ...RWMutexOption) (*RWMutex, error) {
	q, err := queue.New(c, path, queue.ReadWrite)
	if err != nil {
		return nil, err
	}
	rw := &RWMutex{q: q}
	for _, o := range opts {
		if o == nil {
			return nil, errNilOption
		}
		o.applyRWMutex(&rw.s)
	}
	if err := rw.s.check(); err != nil {
		return nil, err
	}
	return rw, nil
}

// Path returns the lock's path.
func (rw *RWMutex) Path() string { return rw.q.Dir() }

// RLock waits until no writer stands before it, and returns a shared lease. ctx
// bounds the wait as in Mutex.Lock.
func (rw *RWMutex) RLock(ctx context.Context) (*recipes.Lease, error) {
	return rw.q.Acquire(ctx, rw.s.request(rw.q, rw.s.readerTag()))
}

// TryRLock takes the lock for reading if no writer holds or awaits it, and
// returns a *LockedError otherwise.
func (rw *RWMutex) TryRLock(ctx context.Context) (*recipes.Lease, error) {
	return rw.s.try(ctx, rw.q, rw.s.readerTag())
}

// Lock waits until nobody stands before it, and returns an exclusive lease. ctx
// bounds the wait as in Mutex.Lock.
//
// Who reads must release before: there is no upgrade, since two who wait for
// each other to stop reading would wait for ever. Where ctx is the one that RDo
// gave to its function, Lock returns ErrUpgrade.
func (rw *RWMutex) Lock(ctx context.Context) (*recipes.Lease, error) {
	if err := rw.refuseUpgrade(ctx); err != nil {
		return nil, err
	}
	return rw.q.Acquire(ctx, rw.s.request(rw.q, rw.s.writerTag()))
}

// TryLock takes the lock for writing if nobody holds or awaits it, and returns a
// *LockedError otherwise.
func (rw *RWMutex) TryLock(ctx context.Context) (*recipes.Lease, error) {
	if err := rw.refuseUpgrade(ctx); err != nil {
		return nil, err
	}
	return rw.s.try(ctx, rw.q, rw.s.writerTag())
}

func (rw *RWMutex) refuseUpgrade(ctx context.Context) error {
	if l, ok := recipes.LeaseFrom(ctx); ok && l.Path() == rw.Path() && l.Shared() && l.Err() == nil {
		return fmt.Errorf("%w: %s is held for reading by this context", ErrUpgrade, rw.Path())
	}
	return nil
}

// Downgrade turns a lease for writing into one for reading, with no moment in
// which another writer could get in. It is the same lease from then on: its
// contexts go on, and it keeps the writer's token, since that of a reader made
// now would be greater than those of writers that wait already.
//
// A lease for reading stays as it is; for one that is over it returns why. If ctx
// ends first it returns its error with ErrOutcomeUnknown; the downgrade goes on
// in the background, and calling again waits for it. It returns ErrNoDowngrade
// where the sequence numbers of the lock's directory have run out.
func (rw *RWMutex) Downgrade(ctx context.Context, l *recipes.Lease) error {
	if l.Path() != rw.Path() {
		panic("lock: Downgrade of a lease of another lock")
	}
	name, ok := rw.q.Downgraded(l.Node())
	if !ok && !l.Shared() {
		return fmt.Errorf("%w: %s", ErrNoDowngrade, l.Node())
	}
	return l.Share(ctx, name, []byte(rw.q.Client().Identity()))
}

// Do runs fn while it holds the lock for writing, as Mutex.Do does.
func (rw *RWMutex) Do(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := rw.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// RDo runs fn while it holds the lock for reading, as Mutex.Do does.
func (rw *RWMutex) RDo(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := rw.RLock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// Queue returns the contenders in their order, as Mutex.Queue does. Each says
// whether it holds, since several readers may.
func (rw *RWMutex) Queue(ctx context.Context) ([]recipes.Contender, error) { return rw.q.List(ctx) }
