package zktest_test

import (
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestDropBeforeCommitLosesTheRequest(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	s.On(zktest.Match{Op: zktest.OpCreate, Path: "/a*"}).DropBeforeCommit()
	c.create("/b", 0)
	c.send(jute.OpCreate, createBody("/abc", 0))
	require.True(t, c.closed())
	_, there := s.Get("/abc")
	require.False(t, there)
}

func TestDroppingLosesNoEarlierReply(t *testing.T) {
	for range 20 {
		s := zktest.Start(t)
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate, Session: a.id()}).DropBeforeCommit()
		s.On(zktest.Match{Op: zktest.OpCreate, Session: b.id()}).DropReply()
		for _, c := range []*bare{a, b} {
			c.send(jute.OpExists, plain("/"))
			c.send(jute.OpCreate, createBody("/a", 0))
			h, _, err := c.receive()
			require.NoError(t, err)
			require.EqualValues(t, 1, h.Xid)
			require.True(t, c.closed())
		}
	}
}

func TestDropReplyLetsTheRequestHappen(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate}).DropReply()
	c.send(jute.OpCreate, createBody("/a", 0))
	require.True(t, c.closed())
	_, there := s.Get("/a")
	require.True(t, there)
	require.Equal(t, 1, h.Hits())
	<-h.Hit()
}

func TestHooksAreOneShotAndFirstComeFirst(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	first := s.On(zktest.Match{Op: zktest.OpExists, Skip: 1}).Error(zktest.QuotaExceeded)
	s.On(zktest.Match{Op: zktest.OpExists, Path: "/b"}).Error(zktest.Throttled)
	s.On(zktest.Match{Session: b.id()}).Times(2).Error(-999)
	require.Equal(t, jute.NoNode, a.do(jute.OpExists, plain("/a"), nil), "skipped")
	require.Equal(t, jute.QuotaExceeded, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Throttled, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Code(-999), b.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.NoNode, a.do(jute.OpExists, plain("/b"), nil))
	require.Equal(t, jute.Code(-999), b.do(jute.OpPing, &jute.Empty{}, nil))
	b.ping()
	require.Equal(t, 1, first.Hits())
}

func TestHookMatchesAMultiByEachOfItsPaths(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpMulti, Path: "/b"}).Always().Observe()
	c.multi(op(jute.OpCheck, version("/a", -1)))
	require.Zero(t, h.Hits())
	c.multi(op(jute.OpCheck, version("/a", -1)), op(jute.OpCheck, version("/b", -1)))
	require.Equal(t, 1, h.Hits())
}

func TestErrorHookChangesNothing(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.ping()
	zxid := c.zxid
	s.On(zktest.Match{Op: zktest.OpCreate}).Error(zktest.OperationTimeout)
	require.Equal(t, jute.OperationTimeout, c.do(jute.OpCreate, createBody("/a", 0), nil))
	require.False(t, c.exists("/a"))
	require.Equal(t, zxid, c.zxid)
}

func TestDelayHoldsBackWhatComesBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate}).Delay(3 * time.Second)
		start := time.Now()
		a.send(jute.OpCreate, createBody("/a", 0))
		a.send(jute.OpPing, &jute.Empty{})
		synctest.Wait()
		require.False(t, b.exists("/a"), "others go on")
		require.Zero(t, time.Since(start))
		h, _, err := a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.OK, h.Err)
		require.Equal(t, 3*time.Second, time.Since(start))
		h, _, err = a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.XidPing, h.Xid)
	})
}

func TestDelayReplyComesAfterTheFact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a, b := open(t, s), open(t, s)
		s.On(zktest.Match{Op: zktest.OpCreate}).DelayReply(3 * time.Second)
		start := time.Now()
		made := a.send(jute.OpCreate, createBody("/a", 0))
		synctest.Wait()
		require.True(t, b.exists("/a"))
		time.Sleep(time.Second)
		a.send(jute.OpPing, &jute.Empty{})
		h, _, err := a.receive()
		require.NoError(t, err)
		require.Equal(t, made, h.Xid)
		require.Equal(t, 3*time.Second, time.Since(start))
		h, _, err = a.receive()
		require.NoError(t, err)
		require.Equal(t, jute.XidPing, h.Xid, "and what came behind it waited")
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestEventWaitsBehindADelayedReply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		c.create("/a", 0)
		s.On(zktest.Match{Op: zktest.OpGetData}).DelayReply(3 * time.Second)
		start := time.Now()
		c.send(jute.OpGetData, watching("/a"))
		synctest.Wait()
		require.NoError(t, s.Delete("/a"))
		_, _, err := c.receive()
		require.NoError(t, err)
		require.Empty(t, c.events, "the client knows of its watch now, not earlier")
		require.Equal(t, event(jute.EventDeleted, "/a"), c.next())
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestWithheldReplyNeverComesThoughTheConnectionLives(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	s.On(zktest.Match{Op: zktest.OpCreate}).WithholdReply()
	c.send(jute.OpCreate, createBody("/a", 0))
	c.ping()
	require.True(t, c.exists("/a"))
}

func TestCallRunsBeforeTheServerSeesTheRequest(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	s.On(zktest.Match{Op: zktest.OpGetData, Path: "/a"}).Call(func(r zktest.Request) {
		require.Equal(t, zktest.Request{Op: zktest.OpGetData, Path: "/a", Session: c.id(), Addr: s.Member(0).Addr()}, r)
		require.NoError(t, s.Delete("/a"))
	})
	require.Equal(t, jute.NoNode, c.do(jute.OpGetData, watching("/a"), nil), "it vanished between list and watch")
}

func TestHoldKeepsARequestUntilReleased(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate, Session: a.id()}).Hold()
	a.send(jute.OpCreate, createBody("/a", 0))
	<-h.Hit()
	require.False(t, b.exists("/a"))
	h.Release()
	_, _, err := a.receive()
	require.NoError(t, err)
	require.True(t, b.exists("/a"))
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(t, err)
	c := open(t, s)
	h := s.On(zktest.Match{Op: zktest.OpCreate}).Hold()
	c.send(jute.OpCreate, createBody("/a", 0))
	<-h.Hit()
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
}

func TestCloseEndsWhatIsStalled(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory(), zktest.WithFollowers(1))
	require.NoError(t, err)
	a, b := openAt(t, s, 0, 10*time.Second), openAt(t, s, 1, 10*time.Second)
	s.Stall(a.id(), zktest.BothWays)
	s.On(zktest.Match{Session: b.id()}).DropReply()
	s.Stall(b.id(), zktest.ToClient)
	a.send(jute.OpPing, &jute.Empty{})
	b.send(jute.OpPing, &jute.Empty{})
	for s.Requests(zktest.OpPing, b.id()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Member(1).CutLeader(true)
	s.Freeze()
	dial(t, s, 1)
	require.NoError(t, s.Close())
}

func TestHookThatWasNeverHitFailsTheTest(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(t, err)
	s.On(zktest.Match{Op: zktest.OpCreate, Path: "/missed"}).DropReply()
	s.On(zktest.Match{Op: zktest.OpDelete}).Times(2).Observe()
	s.On(zktest.Match{Op: zktest.OpDelete}).Optional().Observe()
	s.On(zktest.Match{Op: zktest.OpExists, Path: "/undecided"})
	s.OnEvent(zktest.EventMatch{Path: "/event"}).Suppress()
	c := open(t, s)
	require.Equal(t, jute.NoNode, c.delete("/x"))
	err = s.Close()
	for _, text := range []string{"/missed", "hit 1 times of 2", "/undecided", "/event"} {
		require.ErrorContains(t, err, text)
	}
}

func TestHandshakeMayBeLostOrRefusedOrAnsweredWithAnotherSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	handshakes := zktest.Match{Op: zktest.OpCreateSession, Session: c.id()}

	s.On(handshakes).DropBeforeCommit()
	_, answered := c.resume(s, 0)
	require.False(t, answered)
	s.On(handshakes).DropReply()
	_, answered = c.resume(s, 0)
	require.False(t, answered)
	s.On(handshakes).Error(zktest.SessionExpired)
	d, answered := c.resume(s, 0)
	require.True(t, answered)
	require.Zero(t, d.id())

	s.On(zktest.Match{Session: c.id()}).NewSession()
	d, answered = c.resume(s, 0)
	require.True(t, answered)
	require.NotZero(t, d.id())
	require.NotEqual(t, c.id(), d.id())
	require.Equal(t, c.id(), d.stat("/e").EphemeralOwner)
}

func TestEventsMayBeLostOrLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		c.create("/a", 0)
		s.OnEvent(zktest.EventMatch{Type: zktest.EventDataChanged, Path: "/a", Session: c.id(), Skip: 1}).Suppress()
		s.OnEvent(zktest.EventMatch{Type: zktest.EventDeleted}).Delay(2 * time.Second)
		watch := func() {
			require.Equal(t, jute.OK, c.do(jute.OpExists, watching("/a"), &jute.StatReply{}))
		}
		watch()
		c.set("/a", "1")
		require.Equal(t, event(jute.EventDataChanged, "/a"), c.next(), "skipped")
		watch()
		c.set("/a", "2")
		require.Zero(t, s.Watches(""), "a lost event spends the watch")
		watch()
		start := time.Now()
		c.delete("/a")
		require.Empty(t, c.events)
		require.Equal(t, event(jute.EventDeleted, "/a"), c.next())
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestCutClosesTheConnectionAndKeepsTheSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	s.Cut(a.id())
	require.True(t, a.closed())
	b.ping()
	c, answered := a.resume(s, 0)
	require.True(t, answered)
	require.Equal(t, a.id(), c.id())
}

// quiet tells whether nothing comes for a while.
func (c *bare) quiet() bool {
	_ = c.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := c.conn.Read(make([]byte, 1))
	ok := os.IsTimeout(err)
	_ = c.conn.SetReadDeadline(time.Time{})
	return ok
}

func TestStallHoldsBackAndBlackholeLoses(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		a, b := open(t, s), open(t, s)
		for _, dir := range []zktest.Direction{zktest.ToServer, zktest.ToClient, zktest.BothWays} {
			s.Stall(a.id(), dir)
			path := map[zktest.Direction]string{1: "/1", 2: "/2", 3: "/3"}[dir]
			a.send(jute.OpCreate, createBody(path, 0))
			require.True(t, a.quiet())
			require.Equal(t, dir == zktest.ToClient, b.exists(path))
			s.Restore(a.id())
			_, _, err := a.receive()
			require.NoError(t, err)
			require.True(t, b.exists(path))
		}
		s.Blackhole(a.id(), zktest.ToServer)
		a.send(jute.OpCreate, createBody("/lost", 0))
		require.True(t, a.quiet())
		s.Restore(a.id())
		a.ping()
		require.False(t, b.exists("/lost"))

		s.Blackhole(a.id(), zktest.ToClient)
		a.send(jute.OpCreate, createBody("/done", 0))
		require.True(t, a.quiet())
		s.Restore(a.id())
		a.ping()
		require.True(t, b.exists("/done"))
	})
}

func TestCableIsThatOfOneClient(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		cable, other := s.Cable(), open(t, s)
		conn, err := cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.NoError(t, err)
		c, answered := handshake(t, conn, jute.ConnectRequest{TimeoutMillis: 10000, Password: make([]byte, 16)})
		require.True(t, answered)

		cable.Stall(zktest.BothWays)
		c.send(jute.OpPing, &jute.Empty{})
		require.True(t, c.quiet())
		other.ping()
		start := time.Now()
		_, err = cable.Dial("tcp", s.Member(0).Addr(), 50*time.Millisecond)
		require.Error(t, err, "nobody answers")
		require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
		cable.Restore()
		_, _, err = c.receive()
		require.NoError(t, err)

		cable.Refuse(true)
		_, err = cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.ErrorContains(t, err, "refuses")
		c.ping()
		cable.Refuse(false)
		cable.Cut()
		require.True(t, c.closed())
		other.ping()
		conn, err = cable.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.NoError(t, err)
		d, answered := handshake(t, conn, c.resumption())
		require.True(t, answered)
		require.Equal(t, c.id(), d.id())
		conn.Close()
	})
}

func TestFrozenServerTakesConnectionsAndAnswersNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		a := openAt(t, s, 0, 10*time.Second)
		b := openAt(t, s, 0, 40*time.Second)
		a.create("/a", jute.ModeEphemeral)
		s.Freeze()
		conn := dial(t, s, 0)
		b.send(jute.OpExists, plain("/a"))
		require.True(t, b.quiet())
		time.Sleep(15 * time.Second)
		require.Len(t, s.Sessions(), 2, "no time passes for it")
		s.Thaw()
		h, _, err := b.receive()
		require.NoError(t, err)
		require.Equal(t, jute.NoNode, h.Err, "what is overdue comes first")
		conn.Close()
	})
}

func TestRefusedAndIsolatedServers(t *testing.T) {
	everywhere(t, func(t *testing.T, opts ...zktest.Option) {
		s := zktest.Start(t, opts...)
		c := open(t, s)
		require.NoError(t, s.Refuse(true))
		_, err := s.Dial("tcp", s.Member(0).Addr(), time.Second)
		require.ErrorContains(t, err, "refused")
		c.ping()
		require.NoError(t, s.Refuse(false))
		open(t, s)

		s.Isolate(true)
		_, err = s.Dial("tcp", s.Member(0).Addr(), 10*time.Millisecond)
		require.Error(t, err)
		c.send(jute.OpPing, &jute.Empty{})
		require.True(t, c.quiet())
		s.Isolate(false)
		_, _, err = c.receive()
		require.NoError(t, err)
	})
}

func TestOperatorIsSeenByWatches(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Equal(t, jute.OK, c.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: "/", Mode: jute.WatchPersistentRecursive}, &jute.NumberReply{}))
	require.NoError(t, s.Create("/a", []byte("x")))
	require.NoError(t, s.Create("/a/b", nil))
	require.NoError(t, s.SetData("/a/b", nil))
	require.ErrorIs(t, s.Delete("/a"), zktest.NotEmpty)
	require.ErrorIs(t, s.Create("/a", nil), zktest.NodeExists)
	require.NoError(t, s.DeleteAll("/a"))
	require.ErrorIs(t, s.SetCreateCounter("/a", 1), zktest.NoNode)
	c.ping()
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventCreated, "/a"), event(jute.EventCreated, "/a/b"), event(jute.EventDataChanged, "/a/b"),
		event(jute.EventDeleted, "/a/b"), event(jute.EventDeleted, "/a"),
	}, c.events)
}

func TestRequestsAreCountedByOperationAndSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	s.ResetRequests()
	a.ping()
	a.exists("/")
	a.exists("/")
	b.exists("/")
	require.Equal(t, 3, s.Requests(zktest.OpExists, 0))
	require.Equal(t, 2, s.Requests(zktest.OpExists, a.id()))
	require.Equal(t, 3, s.Requests(0, a.id()))
	require.Equal(t, 4, s.Requests(0, 0))
}

func TestDumpAndLogShowWhatIsAndWas(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	require.Contains(t, s.Dump(), `/e ""`)
	require.Contains(t, s.Dump(), "ephemeral of 0x")
	require.Contains(t, s.Log(), `create xid 1 "/e"`)
	info := s.Sessions()[0]
	require.True(t, info.Connected)
	require.Equal(t, []string{"/e"}, info.Ephemerals)
	require.Equal(t, 10*time.Second, info.Timeout)
	require.Equal(t, s.Member(0).Addr(), info.Addr)
}

// recorder is a T that remembers how a test ended.
type recorder struct {
	mu       sync.Mutex
	cleanups []func()
	failed   bool
	text     string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range args {
		if s, ok := a.(string); ok {
			r.text += s
		} else if e, ok := a.(error); ok {
			r.text += e.Error()
		}
	}
}
func (r *recorder) Errorf(format string, args ...any) { r.failed = true; r.Logf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestStartFailsTheTestAndShowsTheLog(t *testing.T) {
	r := &recorder{}
	s := zktest.Start(r, zktest.WithInMemory())
	open(t, s).create("/seen", 0)
	s.On(zktest.Match{Path: "/missed"}).Observe()
	for _, f := range r.cleanups {
		f()
	}
	require.True(t, r.failed)
	require.Contains(t, r.text, "/missed")
	require.Contains(t, r.text, "/seen")
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []zktest.Option{
		zktest.WithTick(0), zktest.WithSessionTimeouts(2, 1), zktest.WithFollowers(-1),
		zktest.WithMaxBuffer(10), zktest.WithContainerCheck(0), zktest.WithSyncLimit(0), zktest.WithListen("nowhere:x"),
	} {
		_, err := zktest.New(o)
		require.Error(t, err)
	}
}
