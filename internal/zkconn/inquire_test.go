package zkconn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// evader is an impostor that answers the question for the timeout, which comes
// over the third connection, in its own way. shown counts the bytes that it was
// sent over the second, which was to resume the session.
func evader(says []byte, shown *atomic.Int64) zkconn.DialFunc {
	var dials atomic.Int32
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		switch dials.Add(1) {
		case 2:
			client, server := net.Pipe()
			go func() {
				n, _ := io.Copy(io.Discard, server)
				shown.Add(n)
				server.Close()
			}()
			return client, nil
		case 3:
			return impostor(says)(ctx, network, addr)
		default:
			return impostor(handshake(1, 10_000, 16))(ctx, network, addr)
		}
	}
}

func TestSessionIsNotShownToWhoEvadesTheQuestionForItsTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		says []byte
		err  string
	}{
		"HTTP":            {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "not a ZooKeeper server"},
		"negative length": {frame(1<<32 - 1), "not a ZooKeeper server"},
		"huge length":     {frame(1<<31 - 1), "not a ZooKeeper server"},
		"no timeout":      {handshake(2, 0, 16), "session timeout of 0s"},
		"refused":         {handshake(0, 10_000, 16), "refused a new session"},
		"half of it":      {handshake(2, 10_000, 16)[:20], "grants: read pipe: i/o timeout"},
		"quiet":           {nil, "grants: read pipe: i/o timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown atomic.Int64
				errs := openBy(t, evader(test.says, &shown), func(ctx context.Context, c *zkconn.Conn) {
					c.Drop(errors.New("cut"))
					require.NoError(t, c.Await(ctx))
					require.Equal(t, 10*time.Second, c.Chain().Timeout())
				})
				require.Zero(t, shown.Load(), "bytes shown")
				found := strings.Join(errs, "\n")
				require.Contains(t, found, "ask for the session timeout it grants: ")
				require.Contains(t, found, test.err)
			})
		})
	}
}

// The shorter timeout counts from before the session is shown.
func TestShorterTimeoutCountsBeforeTheSessionIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown atomic.Int64
		openBy(t, evader(handshake(2, 2_000, 16), &shown), func(_ context.Context, c *zkconn.Conn) {
			c.Drop(errors.New("cut"))
			synctest.Wait()
			require.False(t, c.Connected(), "nobody answers")
			require.Equal(t, 2*time.Second, c.Chain().Timeout())
		})
		synctest.Wait() // for who counts
		require.NotZero(t, shown.Load())
	})
}

// A session that ends while the question is open does not wait for the answer.
func TestEndOfTheSessionEndsTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown atomic.Int64
		openBy(t, evader(nil, &shown), func(ctx context.Context, c *zkconn.Conn) {
			c.Drop(errors.New("cut"))
			synctest.Wait()
			began := time.Now()
			c.Close(ctx, zkconn.ErrClosed)
			require.LessOrEqual(t, time.Since(began), time.Second, "the pause of the client library")
		})
	})
}
