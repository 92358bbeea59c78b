package zkconn_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// calls are requests with answers of every form there is.
var calls = []func(*zk.Conn) error{
	func(z *zk.Conn) error { _, _, err := z.Get("/"); return err },
	func(z *zk.Conn) error { _, _, err := z.Exists("/x"); return err },
	func(z *zk.Conn) error { _, _, err := z.Children("/"); return err },
	func(z *zk.Conn) error { _, _, err := z.GetACL("/"); return err },
	func(z *zk.Conn) error { _, err := z.Set("/x", nil, -1); return err },
	func(z *zk.Conn) error { _, err := z.Create("/x", nil, 0, zk.WorldACL(zk.PermAll)); return err },
	func(z *zk.Conn) error { return z.Delete("/x", -1) },
	func(z *zk.Conn) error { _, err := z.Sync("/x"); return err },
	func(z *zk.Conn) error {
		_, err := z.Multi(&zk.CheckVersionRequest{Path: "/x", Version: -1}, &zk.SetDataRequest{Path: "/x", Version: -1},
			&zk.CreateRequest{Path: "/x/", Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagSequence})
		return err
	},
}

// answering greets, says something unasked, and answers each request with the same
// words behind its xid.
func answering(unasked, answer []byte) zkconn.DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			readFrame(server)
			_, _ = server.Write(handshake(7, 10_000, 16))
			if len(unasked) > 0 {
				event := append(binary.BigEndian.AppendUint32(nil, 1<<32-1), unasked...) // xid -1
				_, _ = server.Write(frame(uint32(len(event)), event...))
			}
			for {
				request := readFrame(server)
				if len(request) < 4 {
					break
				}
				reply := append(append([]byte(nil), request[:4]...), answer...)
				if _, err := server.Write(frame(uint32(len(reply)), reply...)); err != nil {
					break
				}
			}
			_, _ = io.Copy(io.Discard, server)
		}()
		return client, nil
	}
}

// Whatever a server answers, and tells unasked, the call returns in time, and the
// process lives and takes little memory.
func FuzzAnswers(f *testing.F) {
	ok := make([]byte, 12) // zxid 0, no error
	for op := range calls {
		f.Add(byte(op), []byte(nil), ok)
		f.Add(byte(op), []byte(nil), append(append([]byte(nil), ok...), 0, 0, 0, 1))
		f.Add(byte(op), []byte(nil), append(append([]byte(nil), ok...), make([]byte, 100)...))
		f.Add(byte(op), append(append([]byte(nil), ok...), 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1, '/'), ok[:3])
		f.Add(byte(op), append(append([]byte(nil), ok...), 0, 0, 0), append(append([]byte(nil), ok...), 0xff, 0xff, 0xff, 0xff))
	}
	f.Fuzz(func(t *testing.T, op byte, unasked, answer []byte) {
		call := calls[int(op)%len(calls)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		synctest.Test(t, func(t *testing.T) {
			openBy(t, answering(unasked, answer), func(ctx context.Context, c *zkconn.Conn) {
				ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
				defer cancel()
				start := time.Now()
				_ = c.Do(ctx, zkconn.Write, call)
				require.LessOrEqual(t, time.Since(start), 3*time.Second)
			})
		})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	})
}
