package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const (
	path = "/locks/x"
	T    = zkrtest.Timeout
	tick = zkrtest.Tick
)

// party is a client with a cable of its own and the lock at path.
type party struct {
	*lock.Mutex
	t     testing.TB
	srv   *zktest.Server
	c     *recipes.Client
	cable *zktest.Cable
}

func join(t testing.TB, srv *zktest.Server, opts ...recipes.Option) *party {
	t.Helper()
	return joinAt(t, srv, srv.ConnectString(), opts...)
}

// joinAt is join for a party that knows some of the servers only.
func joinAt(t testing.TB, srv *zktest.Server, connect string, opts ...recipes.Option) *party {
	t.Helper()
	cable := srv.Cable()
	c := zkrtest.DialBy(t, cable, connect, opts...)
	m, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	return &party{Mutex: m, t: t, srv: srv, c: c, cable: cable}
}

// session returns the id of the party's session.
func (p *party) session() int64 { return zkrtest.Session(p.t, p.c).ID() }

type result = zkrtest.Result[*recipes.Lease]

// lock asks for the lock in the background.
func (p *party) lock(ctx context.Context) <-chan result {
	return zkrtest.Go(func() (*recipes.Lease, error) { return p.Lock(ctx) })
}

// hold takes the lock.
func (p *party) hold() *recipes.Lease {
	p.t.Helper()
	l, err := p.Lock(soon(p.t, 10*T))
	require.NoError(p.t, err)
	return l
}

// wait asks for the lock in the background, and returns once the place in the
// queue is taken and nothing moves any more.
func (p *party) wait() <-chan result {
	p.t.Helper()
	r := p.lock(p.t.Context())
	zkrtest.Pending(p.t, r)
	return r
}

// waitUntil is wait for one that can be told to give up.
func (p *party) waitUntil() (<-chan result, context.CancelFunc) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	r := p.lock(ctx)
	zkrtest.Pending(p.t, r)
	return r, cancel
}

// What waits of a lock come to.
var (
	granted = zkrtest.Granted[*recipes.Lease]
	outcome = zkrtest.Receive[result]
	ended   = zkrtest.Ended
	soon    = zkrtest.Soon
)

// failed waits for the end of a wait in vain.
func failed(t testing.TB, r <-chan result, within time.Duration) error {
	t.Helper()
	got := outcome(t, r, within)
	require.Error(t, got.Err)
	require.Nil(t, got.Val)
	return got.Err
}

// release gives a lease back, which takes no time where all is well.
func release(t testing.TB, l *recipes.Lease) {
	t.Helper()
	start := time.Now()
	require.NoError(t, l.Release(t.Context()))
	require.Zero(t, time.Since(start))
}

// contenders returns the names in the queue, when nothing moves any more.
func contenders(srv *zktest.Server) []string {
	synctest.Wait()
	return srv.Children(path)
}
