package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const (
	path = "/election/x"
	T    = zkrtest.Timeout
	tick = zkrtest.Tick
)

// candidate is a participant with a client and a cable of its own.
type candidate struct {
	*election.Election
	t     testing.TB
	c     *recipes.Client
	cable *zktest.Cable
}

func join(t testing.TB, srv *zktest.Server, id string, opts ...election.Option) *candidate {
	t.Helper()
	return joinAs(t, srv, nil, append([]election.Option{election.WithID(id)}, opts...)...)
}

// joinAs is join with options of the client.
func joinAs(t testing.TB, srv *zktest.Server, client []recipes.Option, opts ...election.Option) *candidate {
	t.Helper()
	cable := srv.Cable()
	c := zkrtest.DialBy(t, cable, srv.ConnectString(), client...)
	e, err := election.New(c, path, opts...)
	require.NoError(t, err)
	return &candidate{Election: e, t: t, c: c, cable: cable}
}

func (c *candidate) session() int64 { return zkrtest.Session(c.t, c.c).ID() }

type result = zkrtest.Result[*election.Term]

// campaign campaigns in the background.
func (c *candidate) campaign(ctx context.Context) <-chan result {
	return zkrtest.Go(func() (*election.Term, error) { return c.Campaign(ctx) })
}

// lead wins an election that nobody else is in.
func (c *candidate) lead() *election.Term {
	c.t.Helper()
	return elected(c.t, c.campaign(c.t.Context()), 2*T)
}

// wait campaigns in the background, and returns when it has its place.
func (c *candidate) wait() <-chan result {
	c.t.Helper()
	r := c.campaign(c.t.Context())
	zkrtest.Pending(c.t, r)
	return r
}

// elected waits for a campaign that is won within the given time.
func elected(t testing.TB, r <-chan result, within time.Duration) *election.Term {
	t.Helper()
	return zkrtest.Granted(t, r, within)
}

// outcome waits for a call that returns within the given time.
func outcome[V any](t testing.TB, r <-chan zkrtest.Result[V], within time.Duration) zkrtest.Result[V] {
	t.Helper()
	return zkrtest.Receive(t, r, within)
}

var ended = zkrtest.Ended

func resign(t testing.TB, term *election.Term) {
	t.Helper()
	require.NoError(t, term.Resign(t.Context()))
}

// candidates are the names in the queue, when nothing moves any more.
func candidates(srv *zktest.Server) []string {
	synctest.Wait()
	return srv.Children(path)
}

// worker is a function under Run that tells when it begins, and works until its
// context ends, and however long it is told after that.
type worker struct {
	began  chan *election.Term
	left   chan struct{}    // receives when it returns
	linger <-chan time.Time // nil where it returns at once
}

func newWorker() *worker {
	return &worker{began: make(chan *election.Term, 1000), left: make(chan struct{}, 1000)}
}

func (w *worker) work(ctx context.Context, t *election.Term) error {
	w.began <- t
	<-ctx.Done()
	if w.linger != nil {
		<-w.linger
	}
	w.left <- struct{}{}
	return ctx.Err()
}

// running is a Run in the background.
type running struct {
	*worker
	stop context.CancelFunc
	done <-chan zkrtest.Result[struct{}]
}

// run runs a worker until the test, or stop, ends it.
func (c *candidate) run() *running {
	c.t.Helper()
	w := newWorker()
	ctx, cancel := context.WithCancel(c.t.Context())
	done := zkrtest.Go(func() (struct{}, error) { return struct{}{}, c.Run(ctx, w.work) })
	c.t.Cleanup(cancel)
	return &running{worker: w, stop: cancel, done: done}
}

// leads waits for the worker to begin.
func (r *running) leads(t testing.TB, within time.Duration) *election.Term {
	t.Helper()
	return zkrtest.Receive(t, r.began, within)
}

// stopped ends the Run and waits for it.
func (r *running) stopped(t testing.TB, within time.Duration) {
	t.Helper()
	r.stop()
	require.NoError(t, outcome(t, r.done, within).Err)
}
