package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// library is this library.
type library struct {
	c *recipes.Client

	mu   sync.Mutex
	held map[int64]*recipes.Session // that some lease is of
	last *lock.Mutex                // is for all who want that path
}

func openLibrary(ctx context.Context, addr string) (session, error) {
	c, err := recipes.Dial(ctx, addr, recipes.WithSessionTimeout(timeout), recipes.WithTickTime(tick))
	if err != nil {
		return nil, err
	}
	return &library{c: c, held: make(map[int64]*recipes.Session)}, nil
}

func (s *library) close() { s.c.Close() }

// taking is one way to take something.
type taking struct {
	s     *library
	take  func(context.Context) (*recipes.Lease, error)
	tried func(context.Context) (*recipes.Lease, error)
	lease *recipes.Lease
}

func (t *taking) acquire(ctx context.Context) (err error) {
	if t.lease, err = t.take(ctx); err == nil {
		t.s.note(t.lease.Session())
	}
	return err
}

func (t *taking) release(ctx context.Context) error { return t.lease.Release(ctx) }

func (t *taking) try(ctx context.Context) (bool, error) {
	_, err := t.tried(ctx)
	if errors.Is(err, lock.ErrLocked) {
		return false, nil
	}
	return true, err
}

// candidacy takes part in an election.
type candidacy struct {
	e    *election.Election
	term *election.Term
}

func (c *candidacy) acquire(ctx context.Context) (err error) {
	c.term, err = c.e.Campaign(ctx)
	return err
}

func (c *candidacy) release(ctx context.Context) error { return c.term.Resign(ctx) }

func (s *library) locker(kind, path string, i int) (locker, error) {
	switch kind {
	case "mutex":
		m, err := s.mutex(path)
		if err != nil {
			return nil, err
		}
		return &taking{s: s, take: m.Lock, tried: m.TryLock}, nil
	case "rw":
		m, err := lock.NewRWMutex(s.c, path)
		if err != nil {
			return nil, err
		}
		if i%2 == 0 {
			return &taking{s: s, take: m.Lock, tried: m.TryLock}, nil
		}
		return &taking{s: s, take: m.RLock, tried: m.TryRLock}, nil
	case "semaphore":
		m, err := lock.NewSemaphore(s.c, path, 1)
		if err != nil {
			return nil, err
		}
		return &taking{s: s, take: m.Acquire, tried: m.TryAcquire}, nil
	case "election":
		e, err := election.New(s.c, path)
		return &candidacy{e: e}, err
	}
	return nil, errNone
}

// mutex returns the one Mutex that a process has for a path, as its users should.
func (s *library) mutex(path string) (m *lock.Mutex, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last.Path() == path {
		return s.last, nil
	}
	s.last, err = lock.NewMutex(s.c, path)
	return s.last, err
}

func (s *library) note(of *recipes.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[of.ID()] = of
}

func (s *library) sessions() int { return len(s.all()) }

func (s *library) all() (all []*recipes.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		all = append(all, h)
	}
	return all
}

// obey obeys what can be said while locks are held.
func (s *library) obey(ctx context.Context, words []string, path string) error {
	switch words[0] {
	case "wait":
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		return s.queueUp(ctx, path, n)
	case "back":
		return s.back(ctx)
	}
	return fmt.Errorf("no such command: %s", words[0])
}

// queueUp has one wait for each of the first n mutexes, and tells when all do.
func (s *library) queueUp(ctx context.Context, path string, n int) error {
	before, begin := heap(), time.Now()
	var waiting sync.WaitGroup
	for i := range n {
		waiting.Add(1)
		waits := sync.OnceFunc(waiting.Done)
		m, err := lock.NewMutex(s.c, fmt.Sprintf("%s/%06d", path, i), lock.WithOnWait(func(lock.Wait) { waits() }))
		if err != nil {
			return err
		}
		go func() { _, _ = m.Lock(ctx) }() // ends with the session
	}
	waiting.Wait()
	say(answer{Took: int64(time.Since(begin)), Heap: (heap() - before) / float64(n)})
	return nil
}

// back tells when all sessions have lost their connection, and are proven to
// live over another one.
func (s *library) back(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all := s.all()
	errs := make(chan error, len(all))
	for _, one := range all {
		_, change := one.State()
		go func() { errs <- again(ctx, one, change) }()
	}
	say(answer{At: now()})
	for range all {
		if err := <-errs; err != nil {
			return err
		}
	}
	say(answer{At: now()})
	return nil
}

// again waits for the end of a connection and for proof over the next one.
func again(ctx context.Context, s *recipes.Session, change <-chan struct{}) error {
	for state := recipes.Connected; ; {
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
		before := state
		state, change = s.State()
		if state == recipes.Lost {
			return s.Err()
		}
		if before == recipes.Suspended && state == recipes.Connected {
			return s.Barrier(ctx)
		}
	}
}

// ownFloor is a bare create and delete on a session of this library.
type ownFloor struct {
	library
	s *recipes.Session
}

func openOwnFloor(ctx context.Context, addr string) (session, error) {
	c, err := recipes.Dial(ctx, addr, recipes.WithSessionTimeout(timeout), recipes.WithTickTime(tick))
	if err != nil {
		return nil, err
	}
	s, err := c.Session(ctx)
	return &ownFloor{library: library{c: c}, s: s}, err
}

type ownNode struct {
	s         *recipes.Session
	dir, path string
}

func (s *ownFloor) locker(kind, path string, _ int) (locker, error) {
	if kind != "mutex" {
		return nil, errNone
	}
	_, err := s.s.Create(context.Background(), path, nil, recipes.Persistent, nil)
	if err != nil && !errors.Is(err, recipes.ErrNodeExists) {
		return nil, err
	}
	return &ownNode{s: s.s, dir: path}, nil
}

func (n *ownNode) acquire(ctx context.Context) (err error) {
	n.path, err = n.s.Create(ctx, n.dir+"/"+nodeName, nil, recipes.EphemeralSequential, nil)
	return err
}

func (n *ownNode) release(ctx context.Context) error { return n.s.Delete(ctx, n.path, -1) }
