// Package queue is the one queue of ephemeral sequential contenders that locks
// and elections stand on.
//
// A contender is a znode in the queue's directory. The order is that of their
// creation. Each waits for the one before it and for nothing else of the queue,
// so that a hand-over wakes one waiter. A wake-up means no more than "look
// again": what counts is what is then read.
//
// Seeing that nobody is before it is not enough for a grant, since the session
// may have ended at the leader unseen; recipes.Session.Grant adds the proof.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Queue is a queue in one directory. It is safe for concurrent use.
type Queue struct {
	c      *recipes.Client
	dir    string
	layout Layout
	looks  looks
	front  front
	holder holder

	mu       sync.Mutex
	touch    touch
	nearEnd  bool                // sequence numbers are about to run out
	reported map[string]struct{} // strangers that were reported, nil before the first
}

// touch says whether a contender may be made in one transaction with a set of
// the directory's data, which must have none.
type touch int

const (
	touchUnknown touch = iota
	touchAllowed
	touchNever
)

// New returns the queue in dir.
func New(c *recipes.Client, dir string, layout Layout) (*Queue, error) {
	if c == nil {
		return nil, errors.New("recipes: nil client")
	}
	if err := recipes.CheckDir(dir); err != nil {
		return nil, err
	}
	return &Queue{c: c, dir: dir, layout: layout}, nil
}

// Dir returns the queue's directory.
func (q *Queue) Dir() string { return q.dir }

// Client returns the client.
func (q *Queue) Client() *recipes.Client { return q.c }

// Request says how to contend.
type Request struct {
	Tag    Tag            // that the contender's name gets
	Data   []byte         // of its znode
	OnWait func(Position) // called when a position is known, and when it changes
	Stay   bool           // end with ErrPlaceLost rather than queue again

	Guards []fence.Installer // where the lease installs its token

	Path   string // of the lock, where that is not the queue's directory
	Before int    // how many stand before the first in the queue

	Call uint64 // number of the call, as Client.Acquiring gives it; Acquire does by itself

	// Grant makes the lease of a contender that is first; nil stands for one on
	// its own znode. Spare is what else that needs of the session's budget.
	Grant func(ctx context.Context, own *recipes.Owned, req Request) (*recipes.Lease, error)
	Spare int
}

// Position is where a contender stands.
type Position struct {
	Ahead  int               // how many stand before it
	Holder recipes.Contender // the first of them
}

// ErrPlaceLost says that the place in the queue is lost: its znode or its session
// is gone. It bears the name of the package that returns it.
var ErrPlaceLost = errors.New("lock: place in the queue lost")

func (req *Request) path(q *Queue) string { return cmp.Or(req.Path, q.dir) }

// Acquire is Contend, and tells the client's Trace of the call.
func (q *Queue) Acquire(ctx context.Context, req Request) (lease *recipes.Lease, err error) {
	call, done := q.c.TraceAcquire(ctx, req.path(q), req.Tag.Kind)
	req.Call = call
	defer func() { done(lease, err) }()
	return q.Contend(ctx, req)
}

// Contend queues up and waits for the turn. It returns a lease that is held, or
// an error and no znode, or one that is being deleted in the background.
func (q *Queue) Contend(ctx context.Context, req Request) (*recipes.Lease, error) {
	for {
		lease, err := q.attempt(ctx, req)
		switch {
		case !errors.Is(err, ErrPlaceLost):
			return lease, err
		case req.Stay:
			return nil, Waited(req.path(q), err)
		}
	}
}

// attempt goes through the queue once, with one znode.
func (q *Queue) attempt(ctx context.Context, req Request) (lease *recipes.Lease, err error) {
	own, err := q.enqueue(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() {
		if lease == nil {
			own.Discard()
		}
	}()
	if own.Children == 1 {
		return q.grant(ctx, own.Owned, req)
	}
	w := newWait(q, own.Owned, req)
	defer w.end()
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	if lease, err = q.grant(ctx, own.Owned, req); err != nil {
		return nil, w.failed(err)
	}
	return lease, nil
}

// enqueue makes a contender.
func (q *Queue) enqueue(ctx context.Context, req Request) (*recipes.Created, error) {
	q.renumber(ctx)
	own, err := q.c.CreateProtected(ctx, q.Contender(req))
	switch {
	case errors.Is(err, recipes.ErrSessionExpired) && !errors.Is(err, recipes.ErrClosed):
		return nil, fmt.Errorf("%w: %w", ErrPlaceLost, err)
	case err != nil:
		return nil, err
	}
	q.Joined(own, req)
	return own, nil
}

// Contender says what znode to make for a contender.
func (q *Queue) Contender(req Request) recipes.Protected {
	return recipes.Protected{
		Dir:      q.dir,
		Name:     req.Tag.Text,
		Data:     req.Data,
		Spare:    req.Spare,
		TouchDir: q.mayTouch(),
	}
}

// Joined learns from a contender that was made.
func (q *Queue) Joined(own *recipes.Created, req Request) {
	if own.DirDenied {
		q.neverTouch()
	}
	q.noteSequence(own.Path())
	if fn := q.c.Trace().Enqueued; fn != nil {
		fn(q.event(own.Owned, req))
	}
}

// Waiting tells where a contender stands.
func (q *Queue) Waiting(own *recipes.Owned, req Request, position int, behind string, holder recipes.Contender) {
	if fn := q.c.Trace().Waiting; fn != nil {
		fn(recipes.WaitEvent{ContenderEvent: q.event(own, req), Position: position, Behind: behind, Holder: holder})
	}
}

func (q *Queue) event(own *recipes.Owned, req Request) recipes.ContenderEvent {
	return recipes.ContenderEvent{
		Call: req.Call, Lock: req.path(q), Kind: req.Tag.Kind,
		Path: own.Path(), Session: own.Session().ID(), Token: own.Token(),
	}
}

// grant asks for a lease; a contender that is gone has lost its place.
func (q *Queue) grant(ctx context.Context, own *recipes.Owned, req Request) (*recipes.Lease, error) {
	if req.Grant != nil {
		lease, err := req.Grant(ctx, own, req)
		return lease, PlaceLost(err)
	}
	lease, err := own.Session().Grant(ctx, recipes.Claim{
		Path: q.dir, Kind: req.Tag.Kind, Nodes: []*recipes.Owned{own}, Shared: req.Tag.Shared, Guards: req.Guards,
	})
	return lease, PlaceLost(err)
}

// PlaceLost marks errors after which there is no place in the queue any more.
func PlaceLost(err error) error {
	if errors.Is(err, recipes.ErrNoNode) ||
		errors.Is(err, recipes.ErrSessionExpired) && !errors.Is(err, recipes.ErrClosed) {
		return fmt.Errorf("%w: %w", ErrPlaceLost, err)
	}
	return err
}

// Downgraded returns the name of the reader that takes the place of the writer
// at path: it bears the writer's number. ok is false where that is not one of
// its own, at the end of the range.
func (q *Queue) Downgraded(path string) (name string, ok bool) {
	e, ok := q.layout.parse(path[len(q.dir)+1:])
	if !ok || e.tag.Shared || !e.numbered() {
		return "", false
	}
	reader := Reader
	if e.tag.kazoo {
		reader = KazooReader
	}
	return fmt.Sprintf("_c_%s-%s%010d", recipes.NewUUID(), reader.Text, e.seq), true
}

func (q *Queue) mayTouch() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.touch == touchAllowed
}

func (q *Queue) neverTouch() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.touch = touchNever
}

// noteDir learns from the directory's Stat. What somebody has stored there must
// not be wiped, now or later.
func (q *Queue) noteDir(stat recipes.Stat) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case stat.DataLength > 0:
		q.touch = touchNever
	case q.touch == touchUnknown:
		q.touch = touchAllowed
	}
}

// Numbers from here on are near the end of their range.
const nearEnd = maxSeq - 1<<20

func (q *Queue) noteSequence(path string) {
	e, ok := q.layout.parse(path[len(q.dir)+1:])
	if !ok || e.seq >= 0 && e.seq < nearEnd {
		return
	}
	q.mu.Lock()
	known := q.nearEnd
	q.nearEnd = true
	q.mu.Unlock()
	if !known {
		q.c.Logger().Warn("sequence numbers of a queue are about to run out; JVM and Python peers will lose their order; its directory is deleted as soon as it is empty",
			"path", q.dir, "number", e.seq)
	}
}

// renumber deletes the directory of a queue whose numbers run out, if it is
// empty; they begin anew in the next one. Tokens go on growing.
func (q *Queue) renumber(ctx context.Context) {
	q.mu.Lock()
	near := q.nearEnd
	q.mu.Unlock()
	if !near {
		return
	}
	s, err := q.c.Session(ctx)
	if err != nil {
		return
	}
	if s.Delete(ctx, q.dir, -1) == nil {
		q.mu.Lock()
		q.nearEnd = false
		q.mu.Unlock()
	}
}

// maxReported bounds how many strangers are remembered, and reported.
const maxReported = 1000

// report says once of each stranger that a JVM peer would wait for it.
func (q *Queue) report(strangers []string, seq int64) {
	for _, name := range strangers {
		if !q.layout.blocksJVM(name, seq) {
			continue
		}
		q.mu.Lock()
		_, known := q.reported[name]
		tell := !known && len(q.reported) < maxReported
		if tell {
			if q.reported == nil {
				q.reported = make(map[string]struct{})
			}
			q.reported[name] = struct{}{}
		}
		q.mu.Unlock()
		if tell {
			q.c.Logger().Warn("a znode that is no contender makes Curator peers wait for ever", "path", q.dir, "name", name)
			if fn := q.c.Trace().Stranger; fn != nil {
				fn(recipes.StrangerEvent{Dir: q.dir, Name: name})
			}
		}
	}
}

// lookAgain is how long a waiter that nobody wakes waits until it looks on its
// own: sooner near the head, so that a long queue stays quiet.
func lookAgain(timeout time.Duration, ahead int) time.Duration {
	return timeout / 2 * time.Duration(1+ahead)
}
