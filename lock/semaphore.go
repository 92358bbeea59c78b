package lock

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Semaphore gives out a limited number of permits over processes and machines,
// in the order in which they are asked for. It is safe for concurrent use.
//
// Its znodes are those of Curator's InterProcessSemaphoreV2: contenders queue in
// path/locks, and each permit is a child of path/leases. The first in the queue
// waits until there is room, and then trades its place for its permits in one
// transaction, so that no one ever holds a part of what it asked for.
//
// The limit is a matter of agreement. The first participant stores it as the
// data of path, and whoever comes with another one is refused with a
// *LimitError. Curator's clients neither store nor check it.
//
// A permit's token identifies it and does not fence: several hold at once.
type Semaphore struct {
	c      *recipes.Client
	path   string
	limit  int
	s      settings
	q      *queue.Queue
	leases string

	mu     sync.Mutex
	agreed *agreement // nil until the stored limit was seen
}

// WithTacitLimit neither stores nor checks the limit, for the sake of stock
// Curator clients on a path where nothing may be stored. All participants must
// be configured alike.
func WithTacitLimit() SemaphoreOption { return semaphoreOption(func(s *settings) { s.tacit = true }) }

// NewSemaphore returns the semaphore at path, for the given number of permits.
// It makes nothing at the server yet. Nothing else may live in path.
func NewSemaphore(c *recipes.Client, path string, limit int, opts ...SemaphoreOption) (*Semaphore, error) {
	if limit < 1 {
		return nil, fmt.Errorf("lock: semaphore %s: limit of %d: want at least 1", path, limit)
	}
	if err := recipes.CheckDir(path); err != nil {
		return nil, err
	}
	q, err := queue.New(c, path+"/locks", queue.Entrance)
	if err != nil {
		return nil, err
	}
	sem := &Semaphore{c: c, path: path, limit: limit, q: q, leases: path + "/leases"}
	for _, o := range opts {
		if o == nil {
			return nil, errNilOption
		}
		o.applySemaphore(&sem.s)
	}
	if err := sem.s.check(); err != nil {
		return nil, err
	}
	return sem, nil
}

// Path returns the semaphore's path.
func (sem *Semaphore) Path() string { return sem.path }

// Limit returns the number of permits.
func (sem *Semaphore) Limit() int { return sem.limit }

// Acquire waits for a permit. ctx bounds the wait as in Mutex.Lock.
func (sem *Semaphore) Acquire(ctx context.Context) (*recipes.Lease, error) {
	return sem.AcquireN(ctx, 1)
}

// AcquireN waits for n permits and returns them as one lease, which is over for
// all of them when one is lost. Until then it stands in the way of those who
// came later, also of those who want fewer.
func (sem *Semaphore) AcquireN(ctx context.Context, n int) (lease *recipes.Lease, err error) {
	call, done := sem.c.TraceAcquire(ctx, sem.path, recipes.KindPermit)
	defer func() { done(lease, err) }()
	req, err := sem.request(ctx, n)
	if err != nil {
		return nil, err
	}
	req.Call = call
	return sem.q.Contend(ctx, req)
}

// TryAcquire takes a permit if there is one and nobody waits. It fails with a
// *LockedError otherwise, also while somebody else is about to enter.
func (sem *Semaphore) TryAcquire(ctx context.Context) (*recipes.Lease, error) {
	return sem.TryAcquireN(ctx, 1)
}

// TryAcquireN is TryAcquire for n permits at once.
func (sem *Semaphore) TryAcquireN(ctx context.Context, n int) (lease *recipes.Lease, err error) {
	call, done := sem.c.TraceAcquire(ctx, sem.path, recipes.KindPermit)
	defer func() { done(lease, err) }()
	req, err := sem.request(ctx, n)
	if err != nil {
		return nil, err
	}
	req.Call = call
	if err := sem.look(ctx, n); err != nil {
		return nil, err
	}
	req.Grant = func(ctx context.Context, own *recipes.Owned, _ queue.Request) (*recipes.Lease, error) {
		lease, full, err := sem.takeIfRoom(ctx, own, n)
		if full != nil {
			full.watch.Stop()
			return nil, &LockedError{Path: sem.path, Holder: full.permits[0]}
		}
		return lease, err
	}
	lease, holder, err := sem.q.Try(ctx, req, sem.s.sync)
	if err == nil && lease == nil {
		return nil, &LockedError{Path: sem.path, Holder: holder}
	}
	return lease, err
}

func (sem *Semaphore) request(ctx context.Context, n int) (queue.Request, error) {
	if n < 1 || n > sem.limit {
		return queue.Request{}, fmt.Errorf("lock: semaphore %s: %d permits asked for, of %d", sem.path, n, sem.limit)
	}
	if err := sem.agree(ctx); err != nil {
		return queue.Request{}, err
	}
	req := sem.s.request(sem.q, queue.Entrance[queue.Ours])
	req.Path = sem.path
	req.Before = 1 // whoever holds a permit
	req.Spare = n * sem.c.ProtectedCost(sem.leases, queue.Permit.Text)
	req.Grant = func(ctx context.Context, own *recipes.Owned, req queue.Request) (*recipes.Lease, error) {
		return sem.enter(ctx, own, req, n)
	}
	return req, nil
}

// Do runs fn with a permit, as Mutex.Do does.
func (sem *Semaphore) Do(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := sem.Acquire(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// Queue returns who holds permits, each of them at position 0, and then who
// waits, in order, as Mutex.Queue does. Who is listed for several permits holds
// several.
func (sem *Semaphore) Queue(ctx context.Context) ([]recipes.Contender, error) {
	list, err := sem.q.Permits(ctx, sem.leases)
	if err != nil {
		return nil, err
	}
	waiting, err := sem.q.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range waiting {
		w.Position++
		list = append(list, w)
	}
	return list, nil
}
