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
