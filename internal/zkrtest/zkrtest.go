// Package zkrtest is what tests of several packages share: clients on an
// in-process server, on virtual time.
package zkrtest

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Timeout is the session timeout that Dial asks for, and Tick that of the
// servers that Bubble starts.
const (
	Timeout = 10 * time.Second
	Tick    = 2 * time.Second
)

// Bubble runs a test on virtual time, with a server in memory.
func Bubble(t *testing.T, test func(t *testing.T, srv *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, zktest.Start(t, append([]zktest.Option{zktest.WithInMemory(), zktest.WithTick(Tick)}, opts...)...))
	})
}

// Network is a way to the servers: a *zktest.Server, or a *zktest.Cable.
type Network interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Options are those of a client on virtual time that reaches its servers by net.
func Options(net Network, more ...recipes.Option) []recipes.Option {
	return append([]recipes.Option{
		recipes.WithDialer(net.DialContext),
		recipes.WithClock(recipes.MonotonicClock()),
		recipes.WithSessionTimeout(Timeout),
	}, more...)
}

// Dial gives a client that is closed when the test ends.
func Dial(t testing.TB, srv *zktest.Server, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	return DialBy(t, srv, srv.ConnectString(), opts...)
}

// DialBy is Dial for a client with a network or a list of servers of its own.
func DialBy(t testing.TB, net Network, connect string, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	c, err := recipes.Dial(t.Context(), connect, Options(net, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Session returns the client's session.
func Session(t testing.TB, c *recipes.Client) *recipes.Session {
	t.Helper()
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Result is what a call on a goroutine of its own has returned, and when.
type Result[T any] struct {
	Val T
	Err error
	At  time.Time
}

// Go makes a call on a goroutine of its own.
func Go[T any](call func() (T, error)) <-chan Result[T] {
	c := make(chan Result[T], 1)
	go func() {
		v, err := call()
		c <- Result[T]{v, err, time.Now()}
	}()
	return c
}

// Pending fails the test if one of the calls has returned by the time that
// nothing moves any more.
func Pending[T any](t testing.TB, calls ...<-chan Result[T]) {
	t.Helper()
	synctest.Wait()
	for _, c := range calls {
		select {
		case r := <-c:
			t.Fatalf("returned %v, %v; should still wait", r.Val, r.Err)
		default:
		}
	}
}

// Receive waits for what comes over a channel within the given time: what is due
// right at its end counts.
func Receive[T any](t testing.TB, c <-chan T, within time.Duration) T {
	t.Helper()
	synctest.Wait() // what takes no time has happened
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case v := <-c:
		return v
	case <-timeout.C:
	}
	synctest.Wait()
	select {
	case v := <-c:
		return v
	default:
		t.Fatalf("nothing within %v", within)
		panic("not reached")
	}
}

// Granted waits for a call that returns within the given time what is held then.
func Granted[T interface{ Err() error }](t testing.TB, call <-chan Result[T], within time.Duration) T {
	t.Helper()
	got := Receive(t, call, within)
	if got.Err != nil {
		t.Fatalf("not granted: %v", got.Err)
	}
	if err := got.Val.Err(); err != nil {
		t.Fatalf("granted, and over: %v", err)
	}
	return got.Val
}

// Ended waits for the end of what is held, within the given time.
func Ended(t testing.TB, held interface {
	Done() <-chan struct{}
	Err() error
}, within time.Duration) {
	t.Helper()
	Receive(t, held.Done(), within)
	if held.Err() == nil {
		t.Fatal("done, and not over")
	}
}

// Soon returns a context that ends after d.
func Soon(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
