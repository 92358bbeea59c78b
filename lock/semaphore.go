package lock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	agreed *int32 // version of the znode that holds the limit, once it was seen
}

// WithTacitLimit neither stores nor checks the limit, for the sake of stock
// Curator clients on a path where nothing may be stored. All participants must
// be configured alike.
func WithTacitLimit() SemaphoreOption { return semaphoreOption(func(s *settings) { s.tacit = true }) }

const permitName = "lease-"

// NewSemaphore returns the semaphore at path, for the given number of permits.
// It makes nothing at the server yet. Nothing else may live in path.
func NewSemaphore(c *recipes.Client, path string, limit int, opts ...SemaphoreOption) (*Semaphore, error) {
	if limit < 1 {
		return nil, fmt.Errorf("lock: semaphore %s: limit of %d: want at least 1", path, limit)
	}
	if err := recipes.CheckDir(path); err != nil {
		return nil, err
	}
	q, err := queue.New(c, path+"/locks", queue.Mutex)
	if err != nil {
		return nil, err
	}
	sem := &Semaphore{c: c, path: path, limit: limit, q: q, leases: path + "/leases"}
	for _, o := range opts {
		o.applySemaphore(&sem.s)
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
func (sem *Semaphore) AcquireN(ctx context.Context, n int) (*recipes.Lease, error) {
	req, err := sem.request(ctx, n)
	if err != nil {
		return nil, err
	}
	return sem.q.Acquire(ctx, req)
}

// TryAcquire takes a permit if there is one and nobody waits. It fails with a
// *LockedError otherwise, also while somebody else is about to enter.
func (sem *Semaphore) TryAcquire(ctx context.Context) (*recipes.Lease, error) {
	return sem.TryAcquireN(ctx, 1)
}

// TryAcquireN is TryAcquire for n permits at once.
func (sem *Semaphore) TryAcquireN(ctx context.Context, n int) (*recipes.Lease, error) {
	req, err := sem.request(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := sem.room(ctx, n); err != nil {
		return nil, err
	}
	req.Grant = func(ctx context.Context, own *recipes.Owned) (*recipes.Lease, error) {
		if err := sem.room(ctx, n); err != nil {
			return nil, err
		}
		return sem.take(ctx, own, n)
	}
	lease, holder, err := sem.q.Try(ctx, req, sem.s.sync)
	switch {
	case errors.Is(err, errLimitChanged):
		return sem.TryAcquireN(ctx, n)
	case err == nil && lease == nil:
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
	req := sem.s.request(sem.q, queue.Mutex[0])
	req.Spare = n * sem.c.ProtectedCost(sem.leases, permitName)
	req.Grant = func(ctx context.Context, own *recipes.Owned) (*recipes.Lease, error) {
		return sem.enter(ctx, own, n)
	}
	return req, nil
}

// enter is called for the first in the queue: it waits for room, and takes it.
func (sem *Semaphore) enter(ctx context.Context, own *recipes.Owned, n int) (*recipes.Lease, error) {
	s := own.Session()
	release := s.HoldProof()
	defer release()
	mine, err := own.Watch(ctx)
	if err != nil {
		return nil, err
	}
	for {
		names, _, watch, err := s.ChildrenWatch(ctx, sem.leases)
		switch {
		case errors.Is(err, recipes.ErrNoNode) || err == nil && len(names) <= sem.limit-n:
			if watch != nil {
				watch.Stop()
			}
			lease, err := sem.take(ctx, own, n)
			if errors.Is(err, errLimitChanged) {
				if err := sem.agree(ctx); err != nil {
					return nil, err
				}
				continue
			}
			return lease, err
		case err != nil:
			return nil, err
		}
		select {
		case <-watch.C:
		case <-mine.C:
			if err := own.Load(ctx); err != nil {
				watch.Stop()
				return nil, err
			}
		case <-s.Done():
			err = s.Err()
		case <-ctx.Done():
			err = ctx.Err()
		}
		watch.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// take trades the first place in the queue for permits.
func (sem *Semaphore) take(ctx context.Context, own *recipes.Owned, n int) (*recipes.Lease, error) {
	s := own.Session()
	x := recipes.Exchange{Give: []*recipes.Owned{own}}
	for range n {
		x.Take = append(x.Take, recipes.Protected{Dir: sem.leases, Name: permitName, Data: []byte(sem.c.Identity())})
	}
	if version := sem.version(); version != nil {
		x.Checks = []recipes.Op{recipes.CheckOp(sem.path, *version)}
	}
	created, err := s.Exchange(ctx, x)
	var check *recipes.CheckError
	if errors.As(err, &check) {
		sem.forget()
		return nil, errors.Join(errLimitChanged, err)
	}
	if err != nil {
		return nil, err
	}
	permits := make([]*recipes.Owned, n)
	for i, c := range created {
		permits[i] = c.Owned
	}
	lease, err := s.Grant(ctx, recipes.Claim{Path: sem.path, Nodes: permits, Shared: true})
	if err != nil {
		for _, p := range permits {
			p.Discard()
		}
	}
	return lease, err
}

// room fails unless there are n permits to be had right now.
func (sem *Semaphore) room(ctx context.Context, n int) error {
	s, err := sem.c.Session(ctx)
	if err != nil {
		return err
	}
	names, _, err := s.Children(ctx, sem.leases)
	switch {
	case errors.Is(err, recipes.ErrNoNode):
		return nil
	case err != nil:
		return err
	case len(names) > sem.limit-n:
		return &LockedError{Path: sem.path, Holder: sem.leases + "/" + names[0]}
	}
	return nil
}

// errLimitChanged says that the znode with the limit is another one by now.
var errLimitChanged = errors.New("lock: the limit of the semaphore was changed meanwhile")

func (sem *Semaphore) version() *int32 {
	sem.mu.Lock()
	defer sem.mu.Unlock()
	return sem.agreed
}

func (sem *Semaphore) forget() {
	sem.mu.Lock()
	defer sem.mu.Unlock()
	sem.agreed = nil
}

// agree makes sure that the stored limit is ours. Each permit is then taken in a
// transaction that checks that it still is.
func (sem *Semaphore) agree(ctx context.Context) error {
	if sem.s.tacit || sem.version() != nil {
		return nil
	}
	ours := strconv.Itoa(sem.limit)
	for {
		s, err := sem.c.Session(ctx)
		if err != nil {
			return err
		}
		data, stat, err := s.Get(ctx, sem.path)
		switch {
		case errors.Is(err, recipes.ErrNoNode):
			err = s.MakePersistent(ctx, sem.path, []byte(ours))
		case err == nil && string(data) == ours:
			sem.mu.Lock()
			sem.agreed = &stat.Version
			sem.mu.Unlock()
			return nil
		case err == nil && len(data) > 0:
			return &LimitError{Path: sem.path, Ours: sem.limit, Stored: string(data)}
		case err == nil:
			_, err = s.Set(ctx, sem.path, []byte(ours), stat.Version)
		}
		if err != nil && !settles(err) {
			return err
		}
	}
}

// settles reports whether another look tells what to do.
func settles(err error) bool {
	for _, e := range []error{recipes.ErrNodeExists, recipes.ErrBadVersion, recipes.ErrNoNode, recipes.ErrOutcomeUnknown, recipes.ErrSessionExpired} {
		if errors.Is(err, e) {
			return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, recipes.ErrClosed)
		}
	}
	return false
}

// Do runs fn with a permit, as Mutex.Do does.
func (sem *Semaphore) Do(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := sem.Acquire(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// Queue returns who holds permits, all at position 0, and then who waits, in
// order: a view that may have changed by the time it is returned. Identities
// come from the servers and are not to be trusted.
func (sem *Semaphore) Queue(ctx context.Context) ([]recipes.Contender, error) {
	list, err := sem.q.Members(ctx, sem.leases)
	if err != nil {
		return nil, err
	}
	waiting, err := sem.q.List(ctx)
	for _, w := range waiting {
		w.Position++
		list = append(list, w)
	}
	return list, err
}
