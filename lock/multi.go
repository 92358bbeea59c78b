package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Multi is several mutexes that are taken together: all of them, or none. It
// contends with each Mutex on one of its paths. It is safe for concurrent use.
//
// Its members are taken in the order of their paths, whatever the order in which
// they were named, so that no two of them wait for each other. Curator's
// InterProcessMultiLock takes its locks in the order given to it: give them
// sorted there.
type Multi struct {
	c      *recipes.Client
	path   string
	queues []*queue.Queue
	s      settings
}

// NewMulti returns the lock of all the given paths. It makes nothing at the
// server yet.
func NewMulti(c *recipes.Client, paths []string, opts ...MultiOption) (*Multi, error) {
	if len(paths) == 0 {
		return nil, errors.New("lock: multi-lock of no paths")
	}
	sorted := slices.Sorted(slices.Values(paths))
	m := &Multi{c: c, path: strings.Join(sorted, ",")}
	for i, path := range sorted {
		if i > 0 && path == sorted[i-1] {
			return nil, fmt.Errorf("lock: multi-lock names %s twice", path)
		}
		q, err := queue.New(c, path, queue.Mutex)
		if err != nil {
			return nil, err
		}
		m.queues = append(m.queues, q)
	}
	for _, o := range opts {
		if o == nil {
			return nil, errNilOption
		}
		o.applyMulti(&m.s)
	}
	if err := m.s.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// Path returns the members' paths in their order, with commas between them.
func (m *Multi) Path() string { return m.path }

// Lock waits until it has all members, and returns one lease for all of them. It
// ends, for all of them, when one is lost. ctx bounds the whole of the wait;
// where it ends first nothing is kept.
//
// While it waits for one member it holds those before it in the order of paths,
// and does not stand in the queues of those behind.
func (m *Multi) Lock(ctx context.Context) (lease *recipes.Lease, err error) {
	call, done := m.c.TraceAcquire(ctx, m.path, recipes.KindMutex)
	defer func() { done(lease, err) }()
	for {
		lease, err = m.attempt(ctx, call)
		switch {
		case errors.Is(err, recipes.ErrSessionFull):
			// Others have taken what was given back; there are further sessions.
		case !queue.Gone(err):
			return lease, err
		case m.s.stay:
			return nil, queue.Waited(m.path, err)
		}
	}
}

// TryLock takes all members if nobody holds or awaits one of them, and returns a
// *LockedError otherwise. Where its first look finds one taken it writes
// nothing.
func (m *Multi) TryLock(ctx context.Context) (lease *recipes.Lease, err error) {
	call, done := m.c.TraceAcquire(ctx, m.path, recipes.KindMutex)
	defer func() { done(lease, err) }()
	for {
		lease, err = m.try(ctx, call)
		if !queue.Gone(err) {
			return lease, err
		}
	}
}

func (m *Multi) try(ctx context.Context, call uint64) (*recipes.Lease, error) {
	h, err := m.begin(ctx, call)
	if err != nil {
		return nil, err
	}
	lease, err := h.tryAll(ctx)
	if err != nil {
		h.rollBack(ctx)
	}
	return lease, err
}

// look fails where somebody is in the way of one of the members.
func (m *Multi) look(ctx context.Context, s *recipes.Session) error {
	if m.s.sync {
		if err := s.Barrier(ctx); err != nil {
			return queue.PlaceLost(err)
		}
	}
	for _, q := range m.queues {
		holder, err := q.Taken(ctx, s, m.s.mutexTag())
		if err != nil {
			return err
		}
		if holder != "" {
			return &LockedError{Path: q.Dir(), Holder: holder}
		}
	}
	return nil
}

// Do runs fn while it holds all members, as Mutex.Do does. WithGuards installs
// the token of the member that is first in the order of paths, which grows with
// the grants of that one. For a resource that another member protects, install
// the lease's TokenOf that member.
func (m *Multi) Do(ctx context.Context, fn func(context.Context, *recipes.Lease) error) error {
	lease, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, fn)
}

// Queue returns the contenders for each member, one member after another in the
// order of paths, as Mutex.Queue does.
func (m *Multi) Queue(ctx context.Context) ([]recipes.Contender, error) {
	var all []recipes.Contender
	for _, q := range m.queues {
		list, err := q.List(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// begin returns an attempt in a session with room for all members, which is set
// aside.
func (m *Multi) begin(ctx context.Context, call uint64) (*hold, error) {
	cost := 0
	for _, q := range m.queues {
		cost += m.c.ProtectedCost(q.Dir(), m.s.mutexTag().Text)
	}
	s, err := m.c.SessionFor(ctx, cost)
	if err != nil {
		return nil, err
	}
	return &hold{m: m, s: s, call: call, prepaid: cost}, nil
}

func (m *Multi) attempt(ctx context.Context, call uint64) (lease *recipes.Lease, err error) {
	h, err := m.begin(ctx, call)
	if err != nil {
		return nil, err
	}
	defer func() {
		if lease == nil {
			h.discard()
		}
	}()
	for {
		blocked, _, err := h.takeRest(ctx)
		if err != nil {
			return nil, err
		}
		if blocked < 0 {
			return h.grant(ctx)
		}
		if err := h.giveBackBehind(ctx, blocked); err != nil {
			return nil, err
		}
		// What the grant will ask for is read while there is time.
		if err := h.readBases(ctx); err != nil {
			return nil, err
		}
		q := m.queues[blocked]
		if err := q.Await(ctx, h.nodes[blocked], h.request(blocked)); err != nil {
			return nil, err
		}
	}
}

// hold is what an attempt has: contenders in the first of the queues, in their
// order.
type hold struct {
	m       *Multi
	s       *recipes.Session
	call    uint64
	nodes   []*recipes.Owned
	prepaid int // bytes set aside for members to come
}

// takeRest makes contenders in all queues that have none yet, in one
// transaction, which also checks those that there are: it may be long ago that
// they were seen. It returns the first queue in which somebody else stands before
// ours, -1 if there is none.
func (h *hold) takeRest(ctx context.Context) (blocked int, holder string, err error) {
	rest := h.m.queues[len(h.nodes):]
	if len(rest) == 0 {
		return -1, "", h.verify(ctx)
	}
	x := recipes.Exchange{Checks: h.checks(), Prepaid: h.prepaid}
	for _, q := range rest {
		x.Take = append(x.Take, q.Contender(h.m.s.request(q, h.m.s.mutexTag())))
	}
	h.prepaid = 0
	created, err := h.s.Exchange(ctx, x)
	if err != nil {
		return -1, "", queue.PlaceLost(err)
	}
	from := len(h.nodes)
	for i, c := range created {
		rest[i].Joined(c, h.request(from+i))
		h.nodes = append(h.nodes, c.Owned)
	}
	for i, c := range created {
		if c.Children == 1 {
			continue
		}
		holder, err := rest[i].InTheWay(ctx, c.Owned, h.m.s.mutexTag())
		if holder != "" || err != nil {
			return from + i, holder, err
		}
	}
	return -1, "", nil
}

// request contends for one member.
func (h *hold) request(member int) queue.Request {
	req := h.m.s.request(h.m.queues[member], h.m.s.mutexTag())
	req.Call = h.call
	return req
}

func (h *hold) readBases(ctx context.Context) error {
	for _, q := range h.m.queues {
		if _, err := h.s.FenceBase(ctx, q.Dir()); err != nil {
			return queue.PlaceLost(err)
		}
	}
	return nil
}

// verify makes sure that the contenders are all still there.
func (h *hold) verify(ctx context.Context) error {
	if len(h.nodes) == 1 {
		return nil // it was waited for just now
	}
	for {
		_, err := h.s.Multi(ctx, h.checks()...)
		if !errors.Is(err, recipes.ErrOutcomeUnknown) || ctx.Err() != nil {
			return queue.PlaceLost(err)
		}
	}
}

func (h *hold) checks() []recipes.Op {
	var ops []recipes.Op
	for _, n := range h.nodes {
		ops = append(ops, recipes.CheckOp(n.Path(), -1))
	}
	return ops
}

// giveBackBehind leaves the queues behind the given one, in one transaction.
func (h *hold) giveBackBehind(ctx context.Context, blocked int) error {
	behind := h.nodes[blocked+1:]
	if len(behind) == 0 {
		return nil
	}
	// What becomes of them if this fails is settled by the discard of all.
	if _, err := h.s.Exchange(ctx, recipes.Exchange{Give: behind}); err != nil {
		return queue.PlaceLost(err)
	}
	h.nodes = h.nodes[:blocked+1]
	return nil
}

func (h *hold) tryAll(ctx context.Context) (*recipes.Lease, error) {
	if err := h.m.look(ctx, h.s); err != nil {
		return nil, err
	}
	blocked, holder, err := h.takeRest(ctx)
	if err != nil {
		return nil, err
	}
	if blocked >= 0 {
		return nil, &LockedError{Path: h.m.queues[blocked].Dir(), Holder: holder}
	}
	return h.grant(ctx)
}

func (h *hold) grant(ctx context.Context) (*recipes.Lease, error) {
	lease, err := h.s.Grant(ctx, recipes.Claim{Path: h.m.path, Kind: recipes.KindMutex, Nodes: h.nodes, Guards: h.m.s.guards})
	return lease, queue.PlaceLost(err)
}

// discard leaves all queues, in the background.
func (h *hold) discard() []*recipes.Deletion {
	h.s.Unreserve(h.prepaid)
	h.prepaid = 0
	return h.s.DiscardAll(h.nodes)
}

// rollBack leaves all queues and waits for that while ctx allows.
func (h *hold) rollBack(ctx context.Context) {
	for _, d := range h.discard() {
		select {
		case <-d.Done():
		case <-ctx.Done():
			return
		}
	}
}
