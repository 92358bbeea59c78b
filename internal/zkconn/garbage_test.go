package zkconn_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// What pretends to be a server must not bring the process down: the client
// library trusts lengths and counts.

// handshake is a good answer to a connection request.
func handshake(session int64, timeout int32, password int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+4+8+4+16+1))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout))
	b = binary.BigEndian.AppendUint64(b, uint64(session))
	b = binary.BigEndian.AppendUint32(b, uint32(password))
	return append(b, make([]byte, 17)...)
}

func frame(n uint32, body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, n), body...)
}

// impostor answers each connection with the same bytes, and reads what it is
// sent.
func impostor(says []byte) zkconn.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, server) })
		go func() {
			_, _ = server.Write(says)
			wg.Wait()
			server.Close()
		}()
		return client, nil
	}
}

// open opens a session with an impostor. It returns what the connection had to
// say about it.
func open(t *testing.T, says []byte, then func(context.Context, *zkconn.Conn)) []string {
	return openBy(t, impostor(says), then)
}

func openBy(t *testing.T, dial zkconn.DialFunc, then func(context.Context, *zkconn.Conn)) []string {
	var mu sync.Mutex
	var errs []string
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	start := time.Now()
	c, err := zkconn.Open(ctx, zkconn.Config{
		Servers:  []string{"impostor:2181"},
		Timeout:  10 * time.Second,
		Dial:     dial,
		MaxFrame: 1 << 20,
		Now:      func() leaseclock.Instant { return time.Since(start) },
		Logger:   slog.New(slog.DiscardHandler),
		OnChange: func() {},
		OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err.Error())
		},
	})
	if err == nil {
		then(ctx, c)
		c.Close(ctx, zkconn.ErrClosed)
	}
	if c != nil {
		<-c.Joined()
	}
	mu.Lock()
	defer mu.Unlock()
	return errs
}

func TestNoServerAtAllIsFoundOut(t *testing.T) {
	for name, test := range map[string]struct {
		says []byte
		err  string
	}{
		"HTTP":               {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "not a ZooKeeper server"},
		"TLS":                {[]byte{0x15, 3, 3, 0, 2, 2, 40}, "not a ZooKeeper server"},
		"no length":          {[]byte{0, 0}, "timeout"},
		"length 0":           {frame(0), "not a ZooKeeper server"},
		"negative length":    {frame(1<<32 - 1), "not a ZooKeeper server"},
		"huge length":        {frame(1<<31 - 1), "not a ZooKeeper server"},
		"no timeout":         {handshake(1, 0, 16), "session timeout of 0s"},
		"negative timeout":   {handshake(1, -5, 16), "session timeout of -5ms"},
		"no password":        {handshake(1, 4000, 0), "password of 0 bytes"},
		"negative password":  {handshake(1, 4000, -1), "password of -1 bytes"},
		"no session":         {handshake(0, 4000, 16), "refused a new session"},
		"half of it":         {handshake(1, 4000, 16)[:20], "timeout"},
		"nothing, and quiet": {nil, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs := open(t, test.says, func(context.Context, *zkconn.Conn) { t.Error("connected") })
				require.NotEmpty(t, errs)
				require.Contains(t, errs[0], test.err)
			})
		})
	}
}

func TestServerThatTalksNonsenseIsLeft(t *testing.T) {
	for name, reply := range map[string][]byte{
		"short frame":     frame(8, make([]byte, 8)...),
		"length 0":        frame(0),
		"negative length": frame(1<<32 - 1),
		"huge length":     frame(1<<31 - 1),
		"over the limit":  frame(1<<20 + 1),
		"HTTP":            []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs := open(t, append(handshake(1, 4000, 16), reply...), func(ctx context.Context, c *zkconn.Conn) {
					for c.Connected() {
						time.Sleep(time.Millisecond)
					}
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					err := c.Do(short, zkconn.Read, func(z *zk.Conn) error { _, _, err := z.Get("/"); return err })
					require.Error(t, err)
				})
				require.Contains(t, errs[0], "frame length out of range")
			})
		})
	}
}

// liar answers the connection request, and then the first request with a list
// that claims to have count elements.
func liar(count uint32) zkconn.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			readFrame(server)
			hello := handshake(7, 10_000, 16)
			_, _ = server.Write(hello)
			request := readFrame(server)
			if len(request) < 4 {
				return
			}
			reply := append([]byte(nil), request[:4]...) // its xid
			reply = binary.BigEndian.AppendUint64(reply, 1)
			reply = binary.BigEndian.AppendUint32(reply, 0)
			reply = binary.BigEndian.AppendUint32(reply, count)
			reply = append(reply, make([]byte, 8)...)
			_, _ = server.Write(frame(uint32(len(reply)), reply...))
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}
}

func readFrame(r io.Reader) []byte {
	var n uint32
	if binary.Read(r, binary.BigEndian, &n) != nil {
		return nil
	}
	b := make([]byte, n)
	_, _ = io.ReadFull(r, b)
	return b
}

// A reply within the limit can still claim any number of elements, and the
// client library allocates by it.
func TestReplyThatCountsMoreThanItHoldsEndsTheConnection(t *testing.T) {
	for _, count := range []uint32{1 << 31, 1<<32 - 1, 200_000_000, 3} {
		synctest.Test(t, func(t *testing.T) {
			errs := openBy(t, liar(count), func(ctx context.Context, c *zkconn.Conn) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				err := c.Do(ctx, zkconn.Read, func(z *zk.Conn) error { _, _, err := z.Children("/"); return err })
				require.Error(t, err)
			})
			require.Contains(t, strings.Join(errs, "; "), "counts more elements")
		})
	}
}
