package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// ErrLocked is returned by TryLock when somebody else holds or awaits the lock.
// It comes as a *LockedError.
var ErrLocked = errors.New("lock: locked")

// LockedError says who keeps a lock from being taken.
type LockedError struct {
	Path   string // of the lock
	Holder string // the first contender's znode; Queue tells more about it
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%v: %s is held by %s", ErrLocked, e.Path, e.Holder)
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// Mutex is a fair mutual exclusion lock over processes and machines. It is safe
// for concurrent use, and not re-entrant: goroutines of one process contend like
// strangers.
type Mutex struct {
	q   *queue.Queue
	cfg mutexConfig
}

// MutexOption changes how a Mutex works.
type MutexOption interface{ applyMutex(*mutexConfig) }

type mutexOption func(*mutexConfig)

func (o mutexOption) applyMutex(c *mutexConfig) { o(c) }

type mutexConfig struct {
	onWait func(Wait)
	stay   bool
	sync   bool
}

// Wait is where a Lock stands while it waits.
type Wait struct {
	Position int               // how many stand before it; 1 is next in line
	Holder   recipes.Contender // who holds the lock
}

// WithOnWait has fn called when Lock knows its position, and whenever that
// changes. Lock waits for it to return. Telling the holder costs a read each
// time.
func WithOnWait(fn func(Wait)) MutexOption {
	return mutexOption(func(c *mutexConfig) { c.onWait = fn })
}

// WithStay has Lock end with ErrLost where its place in the queue is lost, with
// its session or its znode. By default it queues again, at the back.
func WithStay() MutexOption { return mutexOption(func(c *mutexConfig) { c.stay = true }) }

// WithSync has TryLock make its server catch up first, at the price of a write.
// Without it TryLock may find a lock taken for as long as its server lags, but
// never takes one wrongly.
func WithSync() MutexOption { return mutexOption(func(c *mutexConfig) { c.sync = true }) }

// NewMutex returns the lock at path. It makes nothing at the server yet. Nothing
// else may live in path; guarded data belongs elsewhere.
func NewMutex(c *recipes.Client, path string, opts ...MutexOption) (*Mutex, error) {
	q, err := queue.New(c, path, queue.Mutex)
	if err != nil {
		return nil, err
	}
	m := &Mutex{q: q}
	for _, o := range opts {
		o.applyMutex(&m.cfg)
	}
	return m, nil
}

// Path returns the lock's path.
func (m *Mutex) Path() string { return m.q.Dir() }

// Lock waits for its turn and returns a lease that is held. ctx bounds the wait;
// it has no bearing on the lease.
//
// If ctx ends first, Lock returns its error, as a *recipes.WaitError that says
// who was in the way; its place in the queue is given up, in the background
// where the server does not answer. If the lock is granted in the same instant,
// one of the two happens, never both. A context that has ended before fails even
// where the lock is free.
func (m *Mutex) Lock(ctx context.Context) (*recipes.Lease, error) {
	return m.q.Acquire(ctx, m.request())
}

func (m *Mutex) request() queue.Request {
	req := queue.Request{
		Tag:  queue.Mutex[0],
		Data: []byte(m.q.Client().Identity()),
		Stay: m.cfg.stay,
	}
	if fn := m.cfg.onWait; fn != nil {
		req.OnWait = func(p queue.Position) { fn(Wait{Position: p.Ahead, Holder: p.Holder}) }
	}
	return req
}

// TryLock takes the lock if nobody holds or awaits it, and returns a
// *LockedError otherwise. Where it finds a contender at its first look it writes
// nothing.
func (m *Mutex) TryLock(ctx context.Context) (*recipes.Lease, error) {
	lease, holder, err := m.q.Try(ctx, m.request(), m.cfg.sync)
	if err == nil && lease == nil {
		return nil, &LockedError{Path: m.Path(), Holder: holder}
	}
	return lease, err
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
// by the time it is returned. Identities come from the servers and are not to be
// trusted.
func (m *Mutex) Queue(ctx context.Context) ([]recipes.Contender, error) { return m.q.List(ctx) }
