package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// MutexOption changes how a Mutex works. Of two that set the same thing, the
// later one counts.
type MutexOption interface{ applyMutex(*settings) }

// RWMutexOption changes how an RWMutex works.
type RWMutexOption interface{ applyRWMutex(*settings) }

// SemaphoreOption changes how a Semaphore works.
type SemaphoreOption interface{ applySemaphore(*settings) }

// MultiOption changes how a Multi works.
type MultiOption interface{ applyMulti(*settings) }

// Option is one that every kind of lock takes.
type Option interface {
	MutexOption
	RWMutexOption
	SemaphoreOption
	MultiOption
}

type option func(*settings)

func (o option) applyMutex(s *settings)     { o(s) }
func (o option) applyRWMutex(s *settings)   { o(s) }
func (o option) applySemaphore(s *settings) { o(s) }
func (o option) applyMulti(s *settings)     { o(s) }

type semaphoreOption func(*settings)

func (o semaphoreOption) applySemaphore(s *settings) { o(s) }

// settings is what the options fill in.
type settings struct {
	onWait func(Wait)
	stay   bool
	sync   bool
	tacit  bool // a semaphore's limit is not stored
	kazoo  bool // contenders are named as kazoo names them
	guards []fence.Installer
}

// Wait is where a contender stands while it waits.
//
// In the queue of a semaphore that has no room Position counts one for all who
// hold permits. The first in the queue is at 1, with one of those as Holder, whose
// Holds is true; whoever stands behind has that first one as Holder, whose Holds is
// false.
type Wait struct {
	Position int               // how many stand before it; 1 is next in line
	Holder   recipes.Contender // the first of them; zero where it has gone before it could be read
}

// WithOnWait has fn called when Lock knows its position, and whenever that
// changes. Lock waits for it to return. It costs no request: Lock reads who is
// first in any case, to name it in its error.
func WithOnWait(fn func(Wait)) Option {
	return option(func(s *settings) { s.onWait = fn })
}

// WithStay has Lock end with ErrPlaceLost where its place in the queue is lost,
// with its session or its znode. By default it queues again, at the back.
func WithStay() Option { return option(func(s *settings) { s.stay = true }) }

// WithSync has TryLock make its server catch up first, at the price of a write.
// Without it TryLock may find a lock taken for as long as its server lags, but
// never takes one wrongly.
func WithSync() Option { return option(func(s *settings) { s.sync = true }) }

// ExclusiveOption is one for locks whose grants exclude others.
type ExclusiveOption interface {
	MutexOption
	RWMutexOption
	MultiOption
}

type exclusiveOption func(*settings)

func (o exclusiveOption) applyMutex(s *settings)   { o(s) }
func (o exclusiveOption) applyRWMutex(s *settings) { o(s) }
func (o exclusiveOption) applyMulti(s *settings)   { o(s) }

// WithGuards has Do install the token of each grant at the given guards before
// it calls its function, so that writes of earlier holders are refused from then
// on: the lock's Do, and that of a lease that Lock or TryLock has returned. Grants
// for reading install nothing. Who holds a lease without Do calls fence.Install.
func WithGuards(guards ...fence.Installer) ExclusiveOption {
	return exclusiveOption(func(s *settings) { s.guards = append(s.guards, guards...) })
}

// WithKazooNames has contenders named as kazoo names its own, so that its stock
// locks count them, on paths that are shared with Python alone: Curator's locks
// do not see such contenders. Ours count them with and without the option.
func WithKazooNames() ExclusiveOption {
	return exclusiveOption(func(s *settings) { s.kazoo = true })
}

// mutexTag is that of contenders for a mutex.
func (s *settings) mutexTag() queue.Tag {
	if s.kazoo {
		return queue.Mutex[queue.Kazoo]
	}
	return queue.Mutex[queue.Ours]
}

func (s *settings) writerTag() queue.Tag {
	if s.kazoo {
		return queue.KazooWriter
	}
	return queue.Writer
}

func (s *settings) readerTag() queue.Tag {
	if s.kazoo {
		return queue.KazooReader
	}
	return queue.Reader
}

var errNilOption = errors.New("lock: nil option")

// check is for what an option cannot refuse by itself.
func (s *settings) check() error {
	for _, g := range s.guards {
		if g == nil {
			return errors.New("lock: WithGuards: nil guard")
		}
	}
	return nil
}

// request contends in q under the given tag.
func (s *settings) request(q *queue.Queue, tag queue.Tag) queue.Request {
	req := queue.Request{Tag: tag, Data: []byte(q.Client().Identity()), Stay: s.stay, Guards: s.guards}
	if fn := s.onWait; fn != nil {
		req.OnWait = func(p queue.Position) { fn(Wait{Position: p.Ahead, Holder: p.Holder}) }
	}
	return req
}

// try takes a lock if nobody is in the way.
func (s *settings) try(ctx context.Context, q *queue.Queue, tag queue.Tag) (lease *recipes.Lease, err error) {
	req := s.request(q, tag)
	call, done := q.Client().TraceAcquire(ctx, q.Dir(), tag.Kind)
	defer func() { done(lease, err) }()
	req.Call = call
	lease, holder, err := q.Try(ctx, req, s.sync)
	if err == nil && lease == nil {
		return nil, &LockedError{Path: q.Dir(), Holder: holder}
	}
	return lease, err
}
