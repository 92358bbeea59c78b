package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestWatchFiresOnceAndBeforeTheReplyThatShowsTheChange(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	a.create("/a", 0)
	require.Equal(t, jute.OK, a.do(jute.OpGetData, watching("/a"), &jute.DataReply{}))

	require.Equal(t, jute.OK, b.set("/a", "x"))
	require.EqualValues(t, 1, a.stat("/a").Version)
	require.Equal(t, event(jute.EventDataChanged, "/a"), a.events[0], "it came before the Stat")

	require.Equal(t, jute.OK, a.do(jute.OpGetData, watching("/a"), &jute.DataReply{}))
	require.Equal(t, jute.OK, a.set("/a", "y"), "to who made the change, too")
	require.Len(t, a.events, 2)
	require.Equal(t, jute.OK, a.set("/a", "z"))
	require.Len(t, a.events, 2)
}

func TestWhatEachWatchSees(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	a.create("/a", 0)
	for _, c := range []struct {
		watch  func() jute.Code
		change func()
		sees   []jute.WatcherEvent
	}{
		{ // exists on what is not there
			func() jute.Code { return a.do(jute.OpExists, watching("/a/x"), nil) },
			func() { b.create("/a/x", 0) },
			[]jute.WatcherEvent{event(jute.EventCreated, "/a/x")},
		},
		{ // getData on what is not there leaves no watch
			func() jute.Code { return a.do(jute.OpGetData, watching("/a/y"), nil) },
			func() { b.create("/a/y", 0) },
			nil,
		},
		{ // children: of the parent, not of what is changed
			func() jute.Code { return a.do(jute.OpGetChildren, watching("/a"), &jute.ListReply{}) },
			func() { b.set("/a/x", "1"); b.set("/a", "1"); b.delete("/a/x") },
			[]jute.WatcherEvent{event(jute.EventChildrenChanged, "/a")},
		},
		{ // a data watch and a child watch on what goes: told once
			func() jute.Code {
				a.do(jute.OpGetChildren2, watching("/a/y"), &jute.ChildrenReply{})
				return a.do(jute.OpExists, watching("/a/y"), &jute.StatReply{})
			},
			func() { b.delete("/a/y") },
			[]jute.WatcherEvent{event(jute.EventDeleted, "/a/y")},
		},
		{ // setACL is seen by nobody
			func() jute.Code { return a.do(jute.OpExists, watching("/a"), &jute.StatReply{}) },
			func() {
				b.do(jute.OpSetACL, &jute.SetACLRequest{Path: "/a", ACL: jute.OpenACL(), Version: -1}, &jute.StatReply{})
			},
			nil,
		},
	} {
		a.events = nil
		require.Contains(t, []jute.Code{jute.OK, jute.NoNode}, c.watch())
		c.change()
		a.ping()
		require.Equal(t, c.sees, a.events)
	}
}

func TestSetWatchesReportsWhatWasMissed(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	for _, p := range []string{"/same", "/changed", "/gone", "/parent"} {
		a.create(p, 0)
	}
	a.conn.Close()
	seen := a.zxid
	b.set("/changed", "x")
	b.delete("/gone")
	b.create("/parent/child", 0)
	b.create("/new", 0)

	c, answered := a.resume(s, 0)
	require.True(t, answered)
	c.sendXid(jute.XidSetWatches, jute.OpSetWatches, &jute.SetWatchesRequest{
		RelativeZxid: seen,
		Data:         []string{"/same", "/changed", "/gone"},
		Exist:        []string{"/new", "/never"},
		Child:        []string{"/same", "/parent", "/gone"},
	})
	h, _, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, jute.XidSetWatches, h.Xid)
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventDataChanged, "/changed"), event(jute.EventDeleted, "/gone"),
		event(jute.EventCreated, "/new"),
		event(jute.EventChildrenChanged, "/parent"), event(jute.EventDeleted, "/gone"),
	}, c.events, "before the reply")
	require.Equal(t, 2, s.Watches("/same"))
	require.Equal(t, 1, s.Watches("/never"))
	require.Equal(t, 3, s.Watches(""))
}

func TestPersistentWatchGoesOn(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	require.Equal(t, jute.OK, a.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: "/a", Mode: jute.WatchPersistent}, &jute.NumberReply{}))
	b.create("/a", 0)
	b.set("/a", "x")
	b.create("/a/b", 0)
	b.set("/a/b", "x")
	b.delete("/a/b")
	b.delete("/a")
	a.ping()
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventCreated, "/a"), event(jute.EventDataChanged, "/a"),
		event(jute.EventChildrenChanged, "/a"), event(jute.EventChildrenChanged, "/a"), event(jute.EventDeleted, "/a"),
	}, a.events)
}

func TestRecursiveWatchSeesAllBelowAndNoChildrenChanged(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	require.Equal(t, jute.OK, a.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: "/a", Mode: jute.WatchPersistentRecursive}, &jute.NumberReply{}))
	b.create("/a", 0)
	b.create("/a/b", 0)
	b.create("/a/b/c", 0)
	b.set("/a/b/c", "x")
	b.delete("/a/b/c")
	b.create("/ab", 0)
	a.ping()
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventCreated, "/a"), event(jute.EventCreated, "/a/b"), event(jute.EventCreated, "/a/b/c"),
		event(jute.EventDataChanged, "/a/b/c"), event(jute.EventDeleted, "/a/b/c"),
	}, a.events)
	a.events = nil
	require.Equal(t, jute.OK, a.do(jute.OpRemoveWatches, &jute.WatchesRequest{Path: "/a", Type: jute.WatcherAny}, nil))
	b.delete("/a/b")
	a.ping()
	require.Empty(t, a.events)
}

func TestRecursiveWatchOnTheRootSeesEverything(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	require.Equal(t, jute.OK, a.do(jute.OpSetWatches2, &jute.SetWatches2Request{
		SetWatchesRequest: jute.SetWatchesRequest{Data: []string{}, Exist: []string{}, Child: []string{}},
		Recursive:         []string{"/"}, Persistent: []string{"/a"},
	}, nil))
	b.create("/a", 0)
	b.create("/a/b", 0)
	a.ping()
	require.Equal(t, []jute.WatcherEvent{
		event(jute.EventCreated, "/a"), event(jute.EventCreated, "/a/b"), event(jute.EventChildrenChanged, "/a"),
	}, a.events)
}

func TestCheckAndRemoveWatches(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	a.create("/a", 0)
	require.Equal(t, jute.OK, a.do(jute.OpGetData, watching("/a"), &jute.DataReply{}))
	ask := func(c *bare, o jute.Op, typ int32) jute.Code {
		return c.do(o, &jute.WatchesRequest{Path: "/a", Type: typ}, nil)
	}
	require.Equal(t, jute.OK, ask(a, jute.OpCheckWatches, jute.WatcherData))
	require.Equal(t, jute.OK, ask(a, jute.OpCheckWatches, jute.WatcherAny))
	require.Equal(t, jute.NoWatcher, ask(a, jute.OpCheckWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, ask(b, jute.OpCheckWatches, jute.WatcherData), "3.8 takes another's watch for one's own")
	require.Equal(t, jute.MarshallingError, ask(a, jute.OpCheckWatches, 9))

	require.Equal(t, jute.NoWatcher, ask(b, jute.OpRemoveWatches, jute.WatcherData), "but removes none")
	require.Equal(t, jute.NoWatcher, ask(a, jute.OpRemoveWatches, jute.WatcherChildren))
	require.Equal(t, jute.OK, ask(a, jute.OpRemoveWatches, jute.WatcherData))
	require.Equal(t, jute.NoWatcher, ask(a, jute.OpRemoveWatches, jute.WatcherAny))
	require.Equal(t, jute.MarshallingError, ask(a, jute.OpRemoveWatches, 9))
	require.Equal(t, jute.MarshallingError, a.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: "/a", Mode: 9}, nil))
	require.Zero(t, s.Watches(""))
}

func TestWatchesGoWithTheConnection(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a := open(t, s)
	require.Equal(t, jute.OK, a.do(jute.OpGetData, watching("/"), &jute.DataReply{}))
	_, answered := a.resume(s, 0)
	require.True(t, answered)
	require.Zero(t, s.Watches(""))
}
