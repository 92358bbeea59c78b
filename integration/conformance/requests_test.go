package conformance_test

import (
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// What the scripts ask for most. Paths are below the script's folder.

func (s *script) creation(path, data string, mode int32, acl ...jute.ACL) *jute.CreateRequest {
	if acl == nil {
		acl = jute.OpenACL()
	}
	return &jute.CreateRequest{Path: s.at(path), Data: []byte(data), ACL: acl, Flags: mode}
}

func (s *script) version(path string, v int32) *jute.PathVersionRequest {
	return &jute.PathVersionRequest{Path: s.at(path), Version: v}
}

func (s *script) setting(path, data string, v int32) *jute.SetDataRequest {
	return &jute.SetDataRequest{Path: s.at(path), Data: []byte(data), Version: v}
}

func (s *script) reading(path string, watch bool) *jute.PathWatchRequest {
	return &jute.PathWatchRequest{Path: s.at(path), Watch: watch}
}

func (s *script) path(path string) *jute.PathRequest { return &jute.PathRequest{Path: s.at(path)} }

// make makes a znode by create2, with an ACL that is open unless one is given.
func (a *session) make(path string, mode int32, acl ...jute.ACL) *reply {
	a.s.t.Helper()
	return a.do(jute.OpCreate2, a.s.creation(path, "data", mode, acl...))
}

func (a *session) makeTTL(path string, mode int32, millis int64) *reply {
	a.s.t.Helper()
	return a.do(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: *a.s.creation(path, "data", mode), TTLMillis: millis})
}

func (a *session) delete(path string, version int32) *reply {
	a.s.t.Helper()
	return a.do(jute.OpDelete, a.s.version(path, version))
}

func (a *session) set(path, data string, version int32) *reply {
	a.s.t.Helper()
	return a.do(jute.OpSetData, a.s.setting(path, data, version))
}

func (a *session) exists(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpExists, a.s.reading(path, false))
}

func (a *session) get(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpGetData, a.s.reading(path, false))
}

func (a *session) list(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpGetChildren2, a.s.reading(path, false))
}

func (a *session) watchExists(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpExists, a.s.reading(path, true))
}

func (a *session) watchData(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpGetData, a.s.reading(path, true))
}

func (a *session) watchList(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpGetChildren, a.s.reading(path, true))
}

func (a *session) addWatch(path string, mode int32) *reply {
	a.s.t.Helper()
	return a.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: a.s.at(path), Mode: mode})
}

func (a *session) removeWatches(path string, typ int32) *reply {
	a.s.t.Helper()
	return a.do(jute.OpRemoveWatches, &jute.WatchesRequest{Path: a.s.at(path), Type: typ})
}

func (a *session) checkWatches(path string, typ int32) *reply {
	a.s.t.Helper()
	return a.do(jute.OpCheckWatches, &jute.WatchesRequest{Path: a.s.at(path), Type: typ})
}

func (a *session) getACL(path string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpGetACL, a.s.path(path))
}

func (a *session) setACL(path string, version int32, acl ...jute.ACL) *reply {
	a.s.t.Helper()
	return a.do(jute.OpSetACL, &jute.SetACLRequest{Path: a.s.at(path), ACL: acl, Version: version})
}

func (a *session) auth(scheme, secret string) *reply {
	a.s.t.Helper()
	return a.do(jute.OpAuth, &jute.AuthRequest{Scheme: scheme, Auth: []byte(secret)})
}

func (a *session) ping() *reply {
	a.s.t.Helper()
	return a.do(jute.OpPing, &jute.Empty{})
}

// close ends the session.
func (a *session) close() *reply {
	a.s.t.Helper()
	return a.do(jute.OpCloseSession, &jute.Empty{})
}

// multi runs operations as one transaction.
func (a *session) multi(ops ...jute.MultiOp) *reply {
	a.s.t.Helper()
	return a.do(jute.OpMulti, &jute.MultiRequest{Ops: ops})
}

func op(o jute.Op, body jute.Record) jute.MultiOp { return jute.MultiOp{Op: o, Body: body} }

func (s *script) happened(typ jute.EventType, path string) event {
	return event{Type: typ, State: jute.StateSyncConnected, Path: s.at(path)}
}

func (s *script) created(path string) event     { return s.happened(jute.EventCreated, path) }
func (s *script) deleted(path string) event     { return s.happened(jute.EventDeleted, path) }
func (s *script) changed(path string) event     { return s.happened(jute.EventDataChanged, path) }
func (s *script) newChildren(path string) event { return s.happened(jute.EventChildrenChanged, path) }

// stat is the Stat in the reply.
func (r *reply) stat() jute.Stat {
	r.s.t.Helper()
	switch b := r.ok().body.(type) {
	case *jute.StatReply:
		return b.Stat
	case *jute.CreateReply:
		return b.Stat
	case *jute.DataReply:
		return b.Stat
	case *jute.ChildrenReply:
		return b.Stat
	case *jute.ACLReply:
		return b.Stat
	}
	require.FailNow(r.s.t, "no Stat in the reply")
	return jute.Stat{}
}

// named states the path that a create gave.
func (r *reply) named(path string) *reply {
	r.s.t.Helper()
	switch b := r.ok().body.(type) {
	case *jute.CreateReply:
		require.Equal(r.s.t, r.s.at(path), b.Path)
	case *jute.PathReply:
		require.Equal(r.s.t, r.s.at(path), b.Path)
	}
	return r
}

// codes states the outcome of each operation of a multi.
func (r *reply) codes(codes ...jute.Code) *reply {
	r.s.t.Helper()
	var got []jute.Code
	for _, result := range r.ok().body.(*jute.MultiReply).Results {
		got = append(got, result.Err)
	}
	require.Equal(r.s.t, codes, got)
	return r
}

func request(o jute.Op, body jute.Record) bareclient.Request {
	return bareclient.Request{Op: o, Body: body}
}
