package conformance_test

import (
	"pgregory.net/rapid"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

const historySessions = 3

// watcher is the session that has persistent watches and no others, for 3.9
// differs from 3.8 where one session has several kinds on one path.
const watcher = 2

// A vocabulary is what random histories are made of. Few paths, so that the
// sessions meet.
type vocabulary struct {
	full bool // also that in which 3.9 differs from 3.8
}

var (
	historyPaths = rapid.SampledFrom([]string{
		"", "/a", "/a", "/a", "/b", "/a/x", "/a/x", "/a/x/y", "/b/x",
		"/a/s-0000000000", "/a/s-0000000001", "/a/s-0000000002", "/b/s-0000000000", "/e", "/bad//path",
	})
	creationPaths = rapid.SampledFrom([]string{
		"/a", "/a", "/b", "/a/x", "/a/x/y", "/b/x", "/a/s-", "/a/s-", "/b/s-", "/e", "/e/x", "/bad//path",
	})
	modes    = rapid.SampledFrom([]int32{0, 0, 1, 1, 2, 3, 3})
	data     = rapid.SampledFrom([][]byte{nil, {}, []byte("1"), []byte("data")})
	versions = rapid.SampledFrom([]int32{-1, -1, -1, 0, 1, 2, -2})

	// All let "own" do everything, so that what a history leaves can be deleted.
	readableACLs = rapid.SampledFrom([][]jute.ACL{
		jute.OpenACL(), jute.OpenACL(), jute.OpenACL(), jute.OpenACL(),
		{own, world(jute.PermRead)}, {own, world(jute.PermRead | jute.PermWrite | jute.PermAdmin)},
		{world(jute.PermRead | jute.PermCreate | jute.PermDelete), own}, {auth(), world(jute.PermRead)}, {},
	})
	allACLs = rapid.SampledFrom([][]jute.ACL{
		jute.OpenACL(), jute.OpenACL(), jute.OpenACL(), {own}, {own, world(jute.PermCreate | jute.PermAdmin)}, {auth()}, nil,
		{own, world(jute.PermRead)},
	})
)

func draw[V any](t *rapid.T, g *rapid.Generator[V]) V { return g.Draw(t, "") }

func somePath(t *rapid.T) string { return historyFolder + draw(t, historyPaths) }

func (v vocabulary) acl(t *rapid.T) []jute.ACL {
	if v.full {
		return draw(t, allACLs)
	}
	return draw(t, readableACLs)
}

func (v vocabulary) step() *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		st := step{who: draw(t, rapid.IntRange(0, historySessions-1))}
		switch draw(t, rapid.IntRange(0, 39)) {
		case 39:
			st.do = resume
		case 34, 35, 36, 37:
			st.do = ask
			st.requests = []bareclient.Request{v.alone(t)}
		case 38:
			st.do = startAnew
		case 0:
			st.do = rest
		default:
			st.do = ask
			n := max(1, draw(t, rapid.IntRange(-4, 4)))
			for len(st.requests) < n {
				r := v.request(t, st.who)
				st.requests = append(st.requests, r)
				if leavesTraces(r) {
					break // timing has it whether the next would see them
				}
			}
		}
		return st
	})
}

// request draws one. Watches are those the session may have.
func (v vocabulary) request(t *rapid.T, who int) bareclient.Request {
	choices := []func(*rapid.T) bareclient.Request{
		v.write, v.write, v.write, v.write, v.multi, v.multi, readElsewhere,
	}
	if v.full || who != watcher {
		choices = append(choices, read, read, v.oneShot)
	}
	if v.full || who == watcher {
		choices = append(choices, v.persistent, v.persistent)
	}
	return draw(t, rapid.SampledFrom(choices))(t)
}

func (v vocabulary) create(t *rapid.T) *jute.CreateRequest {
	return &jute.CreateRequest{
		Path: historyFolder + draw(t, creationPaths), Data: draw(t, data), ACL: v.acl(t), Flags: draw(t, modes),
	}
}

func pathVersion(t *rapid.T) *jute.PathVersionRequest {
	return &jute.PathVersionRequest{Path: somePath(t), Version: draw(t, versions)}
}

func setData(t *rapid.T) *jute.SetDataRequest {
	return &jute.SetDataRequest{Path: somePath(t), Data: draw(t, data), Version: draw(t, versions)}
}

func (v vocabulary) write(t *rapid.T) bareclient.Request {
	switch draw(t, rapid.IntRange(0, 8)) {
	case 0, 1:
		return request(jute.OpDelete, pathVersion(t))
	case 2, 3:
		return request(jute.OpSetData, setData(t))
	case 4:
		return request(jute.OpCreate, v.create(t))
	case 5:
		c := v.create(t)
		// Not one that is ephemeral too: until a real server has applied it, it
		// refuses it children.
		c.Flags = draw(t, rapid.SampledFrom([]int32{jute.ModeContainer, jute.ModeContainer, 0, 2, 5, -1}))
		return request(jute.OpCreateContainer, c)
	case 6:
		c := v.create(t)
		c.Flags = draw(t, rapid.SampledFrom([]int32{jute.ModeTTL, jute.ModeSequentialTTL}))
		return request(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: *c, TTLMillis: 1 << 30})
	}
	return request(jute.OpCreate2, v.create(t))
}

func (v vocabulary) multi(t *rapid.T) bareclient.Request {
	ops := make([]jute.MultiOp, draw(t, rapid.IntRange(1, 4)))
	for i := range ops {
		switch draw(t, rapid.IntRange(0, 5)) {
		case 0:
			ops[i] = op(jute.OpDelete, pathVersion(t))
		case 1:
			ops[i] = op(jute.OpSetData, setData(t))
		case 2:
			ops[i] = op(jute.OpCheck, pathVersion(t))
		case 3:
			c := v.create(t)
			o := jute.OpCreate
			if v.full {
				o = jute.OpCreate2
				c.Flags = draw(t, rapid.SampledFrom([]int32{0, 1, 2, 3, 5, 9}))
			}
			ops[i] = op(o, c)
		default:
			ops[i] = op(jute.OpCreate, v.create(t))
		}
	}
	return request(jute.OpMulti, &jute.MultiRequest{Ops: ops})
}

// read draws a read that may leave a watch.
func read(t *rapid.T) bareclient.Request {
	o := draw(t, rapid.SampledFrom([]jute.Op{jute.OpExists, jute.OpGetData, jute.OpGetChildren, jute.OpGetChildren2}))
	return request(o, &jute.PathWatchRequest{Path: somePath(t), Watch: draw(t, rapid.Bool())})
}

// readElsewhere draws one that does not.
func readElsewhere(t *rapid.T) bareclient.Request {
	path := somePath(t)
	switch draw(t, rapid.IntRange(0, 7)) {
	case 6:
		return request(jute.OpGetACL, &jute.PathRequest{Path: path})
	case 0:
		return request(jute.OpGetAllChildrenNumber, &jute.PathRequest{Path: path})
	case 1:
		return request(jute.OpGetEphemerals, &jute.PathRequest{Path: path})
	case 2:
		return request(jute.OpSync, &jute.PathRequest{Path: path})
	case 3:
		return request(jute.OpPing, &jute.Empty{})
	case 4:
		return request(jute.OpWhoAmI, &jute.Empty{})
	case 5:
		return request(jute.OpGetChildren2, &jute.PathWatchRequest{Path: path})
	}
	return request(jute.OpMultiRead, &jute.MultiRequest{Ops: []jute.MultiOp{
		op(jute.OpGetData, &jute.PathWatchRequest{Path: path}), op(jute.OpGetChildren, &jute.PathWatchRequest{Path: somePath(t)}),
	}})
}

// alone draws what goes different ways together with others. A server answers
// an auth ahead of what is in the queue, and goes by the old ACL until it has
// applied a setACL.
func (v vocabulary) alone(t *rapid.T) bareclient.Request {
	if draw(t, rapid.IntRange(0, 3)) == 0 {
		return request(jute.OpAuth, &jute.AuthRequest{Scheme: "digest", Auth: []byte("own:er")})
	}
	return request(jute.OpSetACL, &jute.SetACLRequest{Path: somePath(t), ACL: v.acl(t), Version: draw(t, versions)})
}

// oneShot draws what is done with watches that fire once.
func (v vocabulary) oneShot(t *rapid.T) bareclient.Request {
	switch draw(t, rapid.IntRange(0, 2)) {
	case 0:
		return v.setWatches(t)
	case 1:
		if v.full {
			return request(jute.OpCheckWatches, watches(t))
		}
	}
	return request(jute.OpRemoveWatches, watches(t))
}

func watches(t *rapid.T) *jute.WatchesRequest {
	return &jute.WatchesRequest{Path: somePath(t), Type: draw(t, rapid.Int32Range(jute.WatcherChildren, jute.WatcherAny))}
}

// setWatches asks for watches again, with changes to be reported since a
// transaction, which is counted from the history's start.
func (v vocabulary) setWatches(t *rapid.T) bareclient.Request {
	some := func() []string {
		list := make([]string, draw(t, rapid.IntRange(0, 3)))
		for i := range list {
			list[i] = somePath(t)
		}
		return list
	}
	return request(jute.OpSetWatches, &jute.SetWatchesRequest{
		RelativeZxid: draw(t, rapid.Int64Range(0, 40)), Data: some(), Exist: some(), Child: some(),
	})
}

// persistent draws what is done with persistent watches. But for the full
// vocabulary each path has one mode.
func (v vocabulary) persistent(t *rapid.T) bareclient.Request {
	path := somePath(t)
	mode := int32(len(path) % 2)
	if v.full {
		mode = draw(t, rapid.Int32Range(0, 1))
	}
	switch draw(t, rapid.IntRange(0, 3)) {
	case 0:
		typ := jute.WatcherAny
		if v.full {
			typ = draw(t, rapid.Int32Range(jute.WatcherChildren, jute.WatcherAny))
		}
		return request(jute.OpRemoveWatches, &jute.WatchesRequest{Path: path, Type: typ})
	case 1:
		r := &jute.SetWatches2Request{
			SetWatchesRequest: jute.SetWatchesRequest{Data: []string{}, Exist: []string{}, Child: []string{}},
			Persistent:        []string{}, Recursive: []string{},
		}
		if mode == jute.WatchPersistent {
			r.Persistent = []string{path}
		} else {
			r.Recursive = []string{path}
		}
		return request(jute.OpSetWatches2, r)
	}
	return request(jute.OpAddWatch, &jute.AddWatchRequest{Path: path, Mode: mode})
}
