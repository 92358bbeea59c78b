package zkconn_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// hookedConn calls hook when it has received something, before the reader sees
// it.
type hookedConn struct {
	net.Conn
	hook func()
}

func (c hookedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.hook()
	return n, err
}

// A renewal that stays unanswered gives up the connection of that moment, which
// may be the next one, in the middle of its handshake.
func TestConnectionGivenUpAsItsHandshakeIsAnsweredIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conn atomic.Pointer[zkconn.Conn]
		var dials atomic.Int32
		server := impostor(handshake(1, 4000, 16))
		start := time.Now()
		c, err := zkconn.Open(t.Context(), zkconn.Config{
			Servers: []string{"impostor:2181"},
			Timeout: 10 * time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := server(ctx, network, addr)
				if dials.Add(1) != 2 { // the second is to resume the session; another asks for the timeout
					return nc, err
				}
				return hookedConn{nc, func() { conn.Load().Drop(errors.New("given up")) }}, err
			},
			MaxFrame: 1 << 20,
			Now:      func() leaseclock.Instant { return time.Since(start) },
			Logger:   slog.New(slog.DiscardHandler),
			OnChange: func() {},
			OnError:  func(error) {},
		})
		require.NoError(t, err)
		defer c.Close(t.Context(), zkconn.ErrClosed)
		conn.Store(c)
		c.Drop(errors.New("given up"))
		require.NoError(t, c.Await(t.Context()))
		require.EqualValues(t, 1+2*2, dials.Load(), "one connection to begin with, and two each for the next two")
		require.True(t, c.Connected())
		require.Equal(t, 2, c.Connects())
	})
}
