package lock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// enter is called for the first in the queue: it waits for room, and takes it.
func (sem *Semaphore) enter(ctx context.Context, own *recipes.Owned, req queue.Request, n int) (*recipes.Lease, error) {
	release := own.Session().HoldProof()
	defer release()
	wait := recipes.WaitError{Path: sem.path}
	lease, err := sem.awaitPermits(ctx, own, req, n, &wait)
	if err != nil && wait.Behind != "" {
		wait.Err = err
		wait.Holder.Age = sem.q.Age(wait.Holder.Created)
		return nil, &wait
	}
	return lease, err
}

// awaitPermits notes what it waits for.
func (sem *Semaphore) awaitPermits(ctx context.Context, own *recipes.Owned, req queue.Request, n int, wait *recipes.WaitError) (*recipes.Lease, error) {
	mine, err := own.Watch(ctx)
	if err != nil {
		return nil, err
	}
	for {
		lease, full, err := sem.takeIfRoom(ctx, own, n)
		if full == nil {
			return lease, err
		}
		if !slices.Contains(full.permits, wait.Behind) {
			err = sem.tellFirst(ctx, own, req, full.permits[0], wait)
		}
		if err == nil {
			err = awaitRoom(ctx, own, mine, full.watch)
		}
		full.watch.Stop()
		if err != nil {
			return nil, err
		}
	}
}

// tellFirst says, for the first in the queue, that it waits for room. What it
// waits for is a permit, whichever of them.
func (sem *Semaphore) tellFirst(ctx context.Context, own *recipes.Owned, req queue.Request, permit string, wait *recipes.WaitError) error {
	holder, err := sem.q.Permit(ctx, own.Session(), permit)
	if err != nil && !errors.Is(err, recipes.ErrNoNode) { // it may have gone since
		return err
	}
	first := wait.Behind == ""
	wait.Position, wait.Behind, wait.Holder = 1, permit, holder
	if !first {
		return nil
	}
	sem.q.Waiting(own, req, 1, permit, holder)
	if req.OnWait != nil {
		req.OnWait(queue.Position{Ahead: 1, Holder: holder})
	}
	return nil
}

// full says that there is no room.
type full struct {
	watch   *recipes.Watch // for the permits
	permits []string       // their znodes
}

// takeIfRoom takes n permits for the first in the queue, unless there is no room.
//
// It asks the session that owns the place in the queue, and no other: permits of
// those who were before it came in the transactions in which their places went,
// so that a server that shows it as the first shows their permits too.
func (sem *Semaphore) takeIfRoom(ctx context.Context, own *recipes.Owned, n int) (*recipes.Lease, *full, error) {
	for {
		names, stat, watch, err := own.Session().ChildrenWatch(ctx, sem.leases)
		if err != nil && !errors.Is(err, recipes.ErrNoNode) {
			return nil, nil, err
		}
		if err == nil && len(names) > sem.limit-n {
			for i := range names {
				names[i] = sem.leases + "/" + names[i]
			}
			return nil, &full{watch, names}, nil
		}
		if err == nil {
			watch.Stop()
		}
		checks, err := sem.stillAgreed(ctx, own.Session(), stat.Czxid)
		if err != nil {
			return nil, nil, err
		}
		lease, err := sem.take(ctx, own, n, checks)
		if !errors.Is(err, errLimitChanged) {
			return lease, nil, err
		}
	}
}

// awaitRoom waits until it is time to look for room again: also after a while in
// which nothing was heard, as in the queue.
func awaitRoom(ctx context.Context, own *recipes.Owned, mine, permits *recipes.Watch) error {
	timer := time.NewTimer(own.Session().Timeout() / 2)
	defer timer.Stop()
	select {
	case <-permits.C:
	case <-timer.C:
	case <-mine.C:
		return own.Load(ctx)
	case <-own.Session().Done():
		return own.Session().Err()
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// take trades the first place in the queue for permits.
func (sem *Semaphore) take(ctx context.Context, own *recipes.Owned, n int, checks []recipes.Op) (*recipes.Lease, error) {
	s := own.Session()
	x := recipes.Exchange{Give: []*recipes.Owned{own}, Checks: checks}
	for range n {
		x.Take = append(x.Take, recipes.Protected{Dir: sem.leases, Name: queue.Permit.Text, Data: []byte(sem.c.Identity())})
	}
	created, err := s.Exchange(ctx, x)
	var check *recipes.CheckError
	if errors.As(err, &check) {
		sem.agreedOn(nil)
		return nil, errLimitChanged
	}
	if err != nil {
		return nil, err
	}
	permits := make([]*recipes.Owned, n)
	for i, c := range created {
		permits[i] = c.Owned
	}
	lease, err := s.Grant(ctx, recipes.Claim{Path: sem.path, Kind: recipes.KindPermit, Nodes: permits, Shared: true, Permits: true})
	if err != nil {
		for _, p := range permits {
			p.Discard()
		}
	}
	return lease, err
}

// look fails where there are no n permits to be had right now. It writes nothing.
func (sem *Semaphore) look(ctx context.Context, n int) error {
	for {
		names, err := sem.permits(ctx)
		switch {
		case errors.Is(err, recipes.ErrNoNode):
			return nil
		case queue.Gone(queue.PlaceLost(err)): // the session is over
			continue
		case err != nil:
			return err
		case len(names) > sem.limit-n:
			return &LockedError{Path: sem.path, Holder: sem.leases + "/" + names[0]}
		}
		return nil
	}
}

// permits lists the permits that are given out.
func (sem *Semaphore) permits(ctx context.Context) ([]string, error) {
	s, err := sem.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	if sem.s.sync {
		if err := s.Barrier(ctx); err != nil {
			return nil, err
		}
	}
	names, _, err := s.Children(ctx, sem.leases)
	return names, err
}
