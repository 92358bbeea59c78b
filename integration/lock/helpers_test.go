package lock_test

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	// tick is the servers' tickTime in all tests.
	tick = 500 * time.Millisecond
	// patience bounds against hanging what takes seconds.
	patience = 60 * time.Second
)

// parallel lets a test that mostly waits run beside others; not where figures
// are kept.
func parallel(t *testing.T) {
	if !proof.Full() {
		t.Parallel()
	}
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// client is a client of this process that notes when leases are granted.
type client struct {
	*recipes.Client
	renewed chan recipes.RenewalEvent

	mu      sync.Mutex
	granted map[fence.Token]time.Duration
}

// dial returns a client that is closed at the test's end.
func dial(t testing.TB, connect string, timeout time.Duration, opts ...recipes.Option) *client {
	t.Helper()
	c := &client{renewed: make(chan recipes.RenewalEvent, 1), granted: make(map[fence.Token]time.Duration)}
	opts = append([]recipes.Option{
		recipes.WithSessionTimeout(timeout),
		recipes.WithTickTime(tick),
		recipes.WithTrace(recipes.Trace{Granted: c.noteGrant, Renewed: c.noteRenewal}),
	}, opts...)
	var err error
	c.Client, err = recipes.Dial(within(t, patience), connect, opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// dialAlone returns a client and the proxy through which it alone reaches s.
func dialAlone(t testing.TB, s *zkserver.Server, timeout time.Duration, opts ...recipes.Option) (*client, *proxy.Proxy) {
	t.Helper()
	p, err := s.NewProxy()
	require.NoError(t, err)
	return dial(t, p.Addr(), timeout, opts...), p
}

func (c *client) noteGrant(ev recipes.LeaseEvent) {
	now := belief.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granted[ev.Token] = now
}

// noteRenewal keeps the newest renewal that nobody has looked at.
func (c *client) noteRenewal(ev recipes.RenewalEvent) {
	select {
	case <-c.renewed:
	default:
	}
	select {
	case c.renewed <- ev:
	default:
	}
}

func (c *client) grantedAt(token fence.Token) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granted[token]
}

func (c *client) mutex(t testing.TB, path string, opts ...lock.MutexOption) *lock.Mutex {
	t.Helper()
	m, err := lock.NewMutex(c.Client, path, opts...)
	require.NoError(t, err)
	return m
}

// hold is a lease and what its holder believes.
type hold struct {
	*recipes.Lease
	seen *belief.Observer
}

func (c *client) hold(t testing.TB, l *recipes.Lease) hold {
	h := hold{l, belief.Observe(l, c.grantedAt(l.Token()))}
	t.Cleanup(h.seen.Stop)
	return h
}

func (c *client) lock(t testing.TB, path string) hold {
	t.Helper()
	l, err := c.mutex(t, path).Lock(within(t, patience))
	require.NoError(t, err)
	return c.hold(t, l)
}

type outcome struct {
	hold
	err error
}

// lockLater waits for the lock in the background, until it has it or the test
// ends.
func (c *client) lockLater(t testing.TB, path string) <-chan outcome {
	t.Helper()
	m := c.mutex(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan outcome, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		l, err := m.Lock(ctx)
		if err != nil {
			got <- outcome{err: err}
			return
		}
		got <- outcome{hold: c.hold(t, l)}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return got
}

func receive[T any](t testing.TB, what string, from <-chan T, bound time.Duration) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(bound):
		require.FailNow(t, "waited in vain", "%s: %v", what, bound)
		panic("unreachable")
	}
}

// mustHold is the outcome of a wait that has to come to a grant.
func mustHold(t testing.TB, from <-chan outcome, bound time.Duration) hold {
	t.Helper()
	o := receive(t, "a grant", from, bound)
	require.NoError(t, o.err)
	return o.hold
}

// awaitQueued waits until n contenders stand in the queue.
func awaitQueued(t testing.TB, c *client, path string, n int) {
	t.Helper()
	eventually(t, "queued", func() bool { return len(children(t, c, path)) == n })
}

// children lists a directory; one that does not exist has none.
func children(t testing.TB, c *client, path string) []string {
	t.Helper()
	s, err := c.Session(within(t, patience))
	require.NoError(t, err)
	names, _, err := s.Children(within(t, patience), path)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	require.NoError(t, err)
	return names
}

// eventually asks until ok; what happens at a server nobody announces.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// witness is a client that no fault touches.
func witness(t testing.TB, s *zkserver.Server) *client {
	t.Helper()
	return dial(t, s.DirectAddr(), 30*time.Second, recipes.WithPersistentParents())
}

// session returns the session in use.
func (c *client) session(t testing.TB) *recipes.Session {
	t.Helper()
	s, err := c.Session(within(t, patience))
	require.NoError(t, err)
	return s
}

// put makes a persistent znode.
func (c *client) put(t testing.TB, path, data string) {
	t.Helper()
	_, err := c.session(t).Create(within(t, patience), path, []byte(data), recipes.Persistent, nil)
	require.NoError(t, err)
}

func (c *client) data(t testing.TB, path string) string {
	t.Helper()
	data, _, err := c.session(t).Get(within(t, patience), path)
	require.NoError(t, err)
	return string(data)
}

// process is a holder in a process of its own.
type process struct {
	*worker.Worker
	t testing.TB
}

func startHolder(t testing.TB, connect string, args ...string) process {
	t.Helper()
	bin := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/lock/internal/holder")
	p := process{worker.Start(t, exec.Command(bin, append([]string{"-connect", connect}, args...)...)), t}
	p.await(belief.Ready, patience)
	return p
}

func (p process) send(command string) {
	p.t.Helper()
	require.NoError(p.t, p.Send(command))
}

// await returns the next line of that event; others before it are passed over.
func (p process) await(event string, bound time.Duration) belief.Line {
	p.t.Helper()
	ctx := within(p.t, bound)
	for {
		text, err := p.Receive(ctx)
		require.NoError(p.t, err, "waiting for %q", event)
		l, err := belief.Parse(text)
		require.NoError(p.t, err, text)
		if l.Event == event {
			return l
		}
	}
}

// round shortens a duration for people.
func round(d time.Duration) time.Duration {
	return d.Round(cmp.Or(min(d.Abs()/1000, time.Millisecond), 1))
}
