package recipetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Crowd is a random history of readers, writers, holders of permits, of mutexes
// and of several of these together, on whatever servers, while whoever runs it
// makes things go wrong. It checks as it goes that there is never a writer beside
// anyone, no mutex held twice, and no more permits than there are; that tokens
// grow, and that who stood in the queue before another came is served before.
type Crowd struct {
	t     testing.TB
	dir   string
	unit  time.Duration // the session timeout, which waits and holds go by
	slack time.Duration // how late a call may return after its context's end
	began time.Time

	rw      Ledger
	permits Permits
	members map[string]*Ledger

	mu    sync.Mutex
	holds []history.Hold
	tally Tally
}

// Tally counts what the operations of a crowd came to.
type Tally struct {
	Operations int
	Grants     map[string]int // by what was asked for
	TimedOut   int            // or cancelled
	Busy       int            // tries in vain
	Lost       int            // leases that were over before they were given back
	Requeued   int            // places in the queue that were lost, and taken again at the back
}

// permitLimit is the limit of a crowd's semaphore.
const permitLimit = 3

// NewCrowd returns a crowd that uses locks in dir, of clients with the given
// session timeout. Where strangers delete znodes and end sessions, holders who
// learn of it a moment later are no fault. On virtual time slack is 0.
func NewCrowd(t testing.TB, dir string, unit, slack time.Duration, steals bool) *Crowd {
	c := &Crowd{
		t: t, dir: dir, unit: unit, slack: slack, began: time.Now(),
		rw:      Ledger{T: t, Steals: steals},
		permits: Permits{T: t, Limit: permitLimit, Steals: steals},
		members: make(map[string]*Ledger),
		tally:   Tally{Grants: make(map[string]int)},
	}
	for _, m := range c.paths() {
		c.members[m] = &Ledger{T: t, Steals: steals}
	}
	return c
}

// paths are those of the mutexes, each of which multi-locks take too.
func (c *Crowd) paths() []string { return []string{c.dir + "/a", c.dir + "/b", c.dir + "/c"} }

func (c *Crowd) rwPath() string  { return c.dir + "/rw" }
func (c *Crowd) semPath() string { return c.dir + "/sem" }

// Dirs are those in which contenders and permits stand.
func (c *Crowd) Dirs() []string {
	return append(c.paths(), c.rwPath(), c.semPath()+"/locks", c.semPath()+"/leases")
}

// Member is one of a crowd: operations of its own, one after another. Several may
// share a client.
type Member struct {
	c      *Crowd
	name   string
	client *recipes.Client
	r      *rand.Rand

	mu     sync.Mutex
	queued []time.Duration // when the present operation took its places in the queue
}

// Join adds a member. Where its order is to be checked it needs a client of its
// own, with the member's Trace.
func (c *Crowd) Join(name string, r *rand.Rand) *Member { return &Member{c: c, name: name, r: r} }

// Trace notes when the member's operations took their places in the queue.
func (m *Member) Trace() recipes.Trace {
	return recipes.Trace{Enqueued: func(recipes.ContenderEvent) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.queued = append(m.queued, m.c.now())
	}}
}

// Use has the member's operations go by the client.
func (m *Member) Use(client *recipes.Client) { m.client = client }

func (c *Crowd) now() time.Duration { return time.Since(c.began) + 1 } // 0 stands for unknown

// places returns when the operation first stood in the queue, 0 if that is not
// known, and how many places it lost there.
func (m *Member) places() (queued time.Duration, lost int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queued) == 0 {
		return 0, 0
	}
	return m.queued[0], len(m.queued) - 1
}

// request is something to ask for.
type request struct {
	what string
	ask  func(context.Context) (*recipes.Lease, error)
	note func(*recipes.Lease) // takes the lease into the ledgers
	hold history.Hold         // what is known of the hold
}

// Operate takes some lock in some way, and gives it back.
func (m *Member) Operate() {
	c := m.c
	req := m.choose()
	m.mu.Lock()
	m.queued = nil
	m.mu.Unlock()
	asked := c.now()
	ctx, cancel := context.WithTimeout(context.Background(), m.upTo(4*c.unit))
	defer cancel()
	deadline, _ := ctx.Deadline()
	l, err := req.ask(ctx)
	from := c.now()
	if late := time.Since(deadline); late > c.slack {
		c.t.Errorf("%s: a call ended %v after its context", req.what, late)
	}
	c.count(req.what, err)
	switch {
	case err == nil:
		req.note(l)
		m.record(req, l, asked, from)
		m.downgrade(l)
		m.hold(l)
	case l != nil:
		c.t.Errorf("%s: a lease and an error: %v", req.what, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, lock.ErrLocked):
	default:
		c.t.Errorf("%s: unexpected: %v", req.what, err)
	}
}

func (c *Crowd) count(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.Operations++
	switch {
	case err == nil:
		c.tally.Grants[what]++
	case errors.Is(err, lock.ErrLocked):
		c.tally.Busy++
	default:
		c.tally.TimedOut++
	}
}

// record keeps what the order of service is judged by in the end.
func (m *Member) record(req request, l *recipes.Lease, asked, from time.Duration) {
	queued, lost := m.places()
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	if req.hold.Path == "" || queued == 0 {
		return // stood in several queues; or it is not known when
	}
	m.c.tally.Requeued += lost
	h := req.hold
	h.Who, h.Token, h.Session = m.name, int64(l.Token()), l.Session().ID()
	h.Asked, h.Queued, h.From, h.Requeued = asked, queued, from, lost > 0
	m.c.holds = append(m.c.holds, h)
}

// choose returns something to ask for.
func (m *Member) choose() request {
	c, r := m.c, m.r
	hurry := r.IntN(4) == 0
	either := func(wait, hurried func(context.Context) (*recipes.Lease, error)) func(context.Context) (*recipes.Lease, error) {
		if hurry {
			return hurried
		}
		return wait
	}
	switch r.IntN(5) {
	case 0:
		rw := made(lock.NewRWMutex(m.client, c.rwPath()))
		return request{"reader", either(rw.RLock, rw.TryRLock), c.rw.Add, history.Hold{Path: c.rwPath(), Mode: history.Shared}}
	case 1:
		rw := made(lock.NewRWMutex(m.client, c.rwPath()))
		return request{"writer", either(rw.Lock, rw.TryLock), c.rw.Add, history.Hold{Path: c.rwPath(), Mode: history.Exclusive}}
	case 2:
		n := 1 + r.IntN(permitLimit)
		sem := made(lock.NewSemaphore(m.client, c.semPath(), permitLimit))
		wait := func(ctx context.Context) (*recipes.Lease, error) { return sem.AcquireN(ctx, n) }
		hurried := func(ctx context.Context) (*recipes.Lease, error) { return sem.TryAcquireN(ctx, n) }
		return request{"permits", either(wait, hurried), func(l *recipes.Lease) { c.permits.Add(l, n) },
			history.Hold{Path: c.semPath(), Mode: history.Permits, N: n, Limit: permitLimit}}
	case 3:
		path := c.paths()[r.IntN(3)]
		mu := made(lock.NewMutex(m.client, path))
		return request{"mutex", either(mu.Lock, mu.TryLock), c.noteMembers, history.Hold{Path: path, Mode: history.Exclusive}}
	}
	chosen := c.paths()
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	multi := made(lock.NewMulti(m.client, chosen[:2+r.IntN(2)]))
	return request{"multi-lock", either(multi.Lock, multi.TryLock), c.noteMembers, history.Hold{}}
}

func made[L any](l L, err error) L {
	if err != nil {
		panic(err) // of a path that this file has chosen
	}
	return l
}

func (c *Crowd) noteMembers(l *recipes.Lease) {
	for path, g := range c.members {
		if token := l.TokenOf(path); token != 0 {
			g.AddMember(l, token)
		}
	}
}

// downgrade makes some writers readers.
func (m *Member) downgrade(l *recipes.Lease) {
	c := m.c
	if l.Path() != c.rwPath() || l.Shared() || m.r.IntN(2) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.upTo(c.unit))
	defer cancel()
	c.rw.Sharing(l)
	err := made(lock.NewRWMutex(m.client, c.rwPath())).Downgrade(ctx, l)
	if err != nil && !errors.Is(err, recipes.ErrLost) && !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("downgrade: %v", err)
	}
}

// hold keeps a lease for a while and gives it back.
func (m *Member) hold(l *recipes.Lease) {
	c := m.c
	d := time.Duration(m.r.ExpFloat64() * float64(c.unit) / 10)
	if m.r.IntN(5) == 0 {
		d = 2 * c.unit
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.upTo(c.unit))
	defer cancel()
	err := l.Release(ctx)
	if errors.Is(err, recipes.ErrLost) {
		c.mu.Lock()
		c.tally.Lost++
		c.mu.Unlock()
	} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("release: %v", err)
	}
	if l.Remaining() != 0 {
		c.t.Errorf("held after its release")
	}
}

// Pause waits a little, as between two operations.
func (m *Member) Pause() { time.Sleep(m.upTo(m.c.unit / 10)) }

func (m *Member) upTo(d time.Duration) time.Duration { return time.Duration(m.r.Int64N(int64(d))) }

// Tally returns what was counted so far.
func (c *Crowd) Tally() Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	t.Grants = maps.Clone(t.Grants)
	return t
}

// All returns the grants of all kinds.
func (t Tally) All() (n int) {
	for _, k := range t.Grants {
		n += k
	}
	return n
}

// Verdict judges the order of service, returns how many grants it could judge,
// and has each of the clients served with each kind of lock, all at once: there
// are no faults any more, and nobody sleeps for ever. ctx bounds that.
func (c *Crowd) Verdict(ctx context.Context, clients ...*recipes.Client) (ordered int) {
	for _, v := range history.OutOfOrder(c.holds) {
		c.t.Errorf("%v", v)
	}
	var wg sync.WaitGroup
	for i, client := range clients {
		rw := made(lock.NewRWMutex(client, c.rwPath()))
		sem := made(lock.NewSemaphore(client, c.semPath(), permitLimit))
		two := func(ctx context.Context) (*recipes.Lease, error) { return sem.AcquireN(ctx, 2) }
		for what, ask := range map[string]func(context.Context) (*recipes.Lease, error){
			"reader": rw.RLock, "writer": rw.Lock, "permits": two,
			"multi-lock": made(lock.NewMulti(client, c.paths())).Lock, "mutex": made(lock.NewMutex(client, c.paths()[1])).Lock,
		} {
			wg.Go(func() {
				l, err := ask(ctx)
				if err == nil {
					err = l.Release(ctx)
				}
				if err != nil {
					c.t.Errorf("client %d is not served as %s in the end: %v", i, what, err)
				}
			})
		}
	}
	wg.Wait()
	return len(c.holds)
}

// RequireNoGhosts states that nothing is left in the crowd's directories, by the
// time that ctx ends, as a session sees it that is shown every write committed
// before.
func (c *Crowd) RequireNoGhosts(ctx context.Context, s *recipes.Session) {
	c.t.Helper()
	for _, dir := range c.Dirs() {
		require.NoError(c.t, c.awaitEmpty(ctx, s, dir))
	}
}

func (c *Crowd) awaitEmpty(ctx context.Context, s *recipes.Session, dir string) error {
	for {
		if err := s.Barrier(ctx); err != nil {
			return err
		}
		names, _, w, err := s.ChildrenWatch(ctx, dir)
		if errors.Is(err, recipes.ErrNoNode) || err == nil && len(names) == 0 {
			if w != nil {
				w.Stop()
			}
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-w.C:
		case <-ctx.Done():
			return fmt.Errorf("left in %s: %q", dir, names)
		}
	}
}
