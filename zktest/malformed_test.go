package zktest_test

import (
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// garbage is what does not begin a session.
var garbage = []string{
	"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	"\xff\xff\xff\xff",
	"\x80\x00\x00\x00",
	"\x7f\xff\xff\xffabc",
	"\x00\x10\x00\x00", // one more than jute.maxbuffer
	"\x00\x00\x00\x00",
	"\x00\x00\x00\x01x",
	"\x00\x00\x00\x1c" + "0123456789012345678901234567",
	"\x00\x00\x00\x1c" + "012345678901234567890123\x7f\xff\xff\xff",
	"nope",
	"envi",
}

func TestGarbageBeforeTheHandshakeEndsTheConnection(t *testing.T) {
	s := zktest.Start(t)
	for _, in := range garbage {
		conn := dial(t, s, 0)
		_, err := conn.Write([]byte(in))
		require.NoError(t, err)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err, "%q", in)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%q", in)
	}
	open(t, s).ping()
	require.Len(t, s.Sessions(), 1)
}

func TestTruncatedHandshakeEndsWithItsConnection(t *testing.T) {
	s := zktest.Start(t)
	whole := jute.AppendFrame(nil, &jute.ConnectRequest{TimeoutMillis: 5000, Password: make([]byte, 16)})
	for n := range whole {
		conn := dial(t, s, 0)
		_, err := conn.Write(whole[:n])
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	open(t, s)
	require.Len(t, s.Sessions(), 1)
}

func TestGarbageAfterTheHandshake(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	for _, in := range []string{"\xff\xff\xff\xff", "\x00\x10\x00\x00", "\x00\x00\x00\x04\x00\x00\x00\x01"} {
		c := open(t, s)
		_, err := c.conn.Write([]byte(in))
		require.NoError(t, err)
		require.True(t, c.closed(), "%q", in)
	}
	require.Len(t, s.Sessions(), 3, "the sessions stay")
}

func TestRequestUpToMaxBufferIsTaken(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory(), zktest.WithMaxBuffer(2000))
	c := open(t, s)
	body := createBody("/a", 0)
	fits := 2000 - len(jute.Marshal(&jute.RequestHeader{}, body))
	body.Data = make([]byte, fits)
	require.Equal(t, jute.OK, c.do(jute.OpCreate, body, &jute.PathReply{}))
	body.Path, body.Data = "/b", make([]byte, fits+1)
	c.send(jute.OpCreate, body)
	require.True(t, c.closed())
}

func TestAnnouncedLengthsCostNoMemory(t *testing.T) {
	s := zktest.Start(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200 {
		conn := dial(t, s, 0)
		_, err := conn.Write([]byte("\x00\x0f\xff\xffx"))
		require.NoError(t, err)
	}
	open(t, s)
	runtime.ReadMemStats(&after)
	require.Less(t, after.HeapAlloc, before.HeapAlloc+64<<20, "200 × 1 MiB were announced")
}

func TestClientThatDoesNotReadIsNotReadFrom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		require.NoError(t, s.Create("/big", make([]byte, 1<<20-1000)))
		c := open(t, s)
		_ = c.conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
		frame := jute.AppendFrame(nil, &jute.RequestHeader{Op: jute.OpGetData}, plain("/big"))
		for {
			if _, err := c.conn.Write(frame); err != nil {
				break
			}
		}
		require.Less(t, s.Requests(zktest.OpGetData, c.id()), 10, "the rest waits in the network")
		c.conn.Close()
		open(t, s).ping()
	})
}

// FuzzConnection sends arbitrary bytes to a server, once in the place of the
// handshake and once after it. The server must live on.
func FuzzConnection(f *testing.F) {
	for _, in := range garbage {
		f.Add(false, []byte(in))
	}
	f.Add(false, []byte("ruok"))
	f.Add(false, jute.AppendFrame(nil, &jute.ConnectRequest{TimeoutMillis: -1, SessionID: 1, Password: make([]byte, 16)}))
	for _, frame := range requestSeeds() {
		f.Add(true, frame)
	}
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(f, err)
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, greet bool, in []byte) {
		conn, err := s.Dial("tcp", s.Member(0).Addr(), 0)
		require.NoError(t, err)
		defer conn.Close()
		if greet {
			_, ok := handshake(t, conn, jute.ConnectRequest{TimeoutMillis: 5000, Password: make([]byte, 16)})
			require.True(t, ok)
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_, _ = conn.Write(in)
		conn.Close()
		open(t, s).do(jute.OpCloseSession, &jute.Empty{}, nil)
	})
}

// requestSeeds are one request of each kind.
func requestSeeds() [][]byte {
	multi := &jute.MultiRequest{Ops: []jute.MultiOp{
		op(jute.OpCreate, createBody("/m", 3)), op(jute.OpSetData, &jute.SetDataRequest{Path: "/m"}), op(jute.OpDelete, version("/m", -1)),
	}}
	var frames [][]byte
	for o, body := range map[jute.Op]jute.Record{
		jute.OpCreate: createBody("/f", 0), jute.OpCreate2: createBody("/f", 3), jute.OpDelete: version("/f", -1),
		jute.OpExists: watching("/f"), jute.OpGetData: watching("/f"), jute.OpGetChildren2: watching("/"),
		jute.OpSetACL: &jute.SetACLRequest{Path: "/f", ACL: jute.OpenACL()}, jute.OpGetACL: at("/f"),
		jute.OpMulti: multi, jute.OpMultiRead: multi, jute.OpAuth: &jute.AuthRequest{Scheme: "digest", Auth: []byte("a:b")},
		jute.OpSetWatches2:   &jute.SetWatches2Request{Recursive: []string{"/"}, Persistent: []string{"f"}},
		jute.OpAddWatch:      &jute.AddWatchRequest{Path: "", Mode: 1},
		jute.OpRemoveWatches: &jute.WatchesRequest{Path: "/f", Type: 3}, jute.OpGetAllChildrenNumber: at("/"),
		jute.OpCreateTTL:    &jute.CreateTTLRequest{CreateRequest: *createBody("/t", 5), TTLMillis: 1},
		jute.OpCloseSession: &jute.Empty{}, jute.OpSASL: &jute.Empty{}, jute.OpReconfig: &jute.Empty{},
	} {
		frames = append(frames, jute.AppendFrame(nil, &jute.RequestHeader{Xid: 1, Op: o}, body))
	}
	return frames
}
