package zktest

import "github.com/zkrecipes/zkrecipes/internal/jute"

// A restoration is a list of watches that a client has back, and what is done
// for each.
type restoration struct {
	paths   []string
	restore func(path string)
}

// setWatches restores the watches of a client that has come back, and reports
// at once what it has missed.
func setWatches(c *conn, body jute.Record) (jute.Record, jute.Code) {
	return restore(oneShot(c, body.(*jute.SetWatchesRequest)))
}

func setWatches2(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.SetWatches2Request)
	w := c.member.watches
	return restore(append(oneShot(c, &b.SetWatchesRequest),
		restoration{b.Persistent, func(p string) { w.addBoth(p, c, watchPersistent) }},
		restoration{b.Recursive, func(p string) { w.addBoth(p, c, watchRecursive) }},
	))
}

// restore goes through the lists in their order. A real server gets as far as
// the first that is null.
func restore(all []restoration) (jute.Record, jute.Code) {
	for _, r := range all {
		if r.paths == nil {
			return nil, jute.MarshallingError
		}
		for _, p := range r.paths {
			r.restore(p)
		}
	}
	return nil, jute.OK
}

func oneShot(c *conn, b *jute.SetWatchesRequest) []restoration {
	t, w := c.member.tree, c.member.watches
	return []restoration{
		{b.Data, func(p string) {
			switch n := t.nodes[p]; {
			case n == nil:
				c.event(jute.EventDeleted, p)
			case n.mzxid > b.RelativeZxid:
				c.event(jute.EventDataChanged, p)
			default:
				w.data.add(p, c, watchOnce)
			}
		}},
		{b.Exist, func(p string) {
			if t.nodes[p] != nil {
				c.event(jute.EventCreated, p)
			} else {
				w.data.add(p, c, watchOnce)
			}
		}},
		{b.Child, func(p string) {
			switch n := t.nodes[p]; {
			case n == nil:
				c.event(jute.EventDeleted, p)
			case n.pzxid > b.RelativeZxid:
				c.event(jute.EventChildrenChanged, p)
			default:
				w.child.add(p, c, watchOnce)
			}
		}},
	}
}

func (w *watches) addBoth(path string, c *conn, mode watchMode) {
	w.data.add(path, c, mode)
	w.child.add(path, c, mode)
}

func addWatch(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.AddWatchRequest)
	switch b.Mode {
	case jute.WatchPersistent:
		c.member.watches.addBoth(b.Path, c, watchPersistent)
	case jute.WatchPersistentRecursive:
		c.member.watches.addBoth(b.Path, c, watchRecursive)
	default:
		return nil, jute.MarshallingError
	}
	return &jute.NumberReply{}, jute.OK
}

func checkWatches(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.WatchesRequest)
	w := c.member.watches
	var found bool
	switch b.Type {
	case jute.WatcherChildren:
		found = w.child.has(b.Path)
	case jute.WatcherData:
		found = w.data.has(b.Path)
	case jute.WatcherAny:
		found = w.child.has(b.Path) || w.data.has(b.Path)
	default:
		return nil, jute.MarshallingError
	}
	return nil, watcherCode(found)
}

func removeWatches(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.WatchesRequest)
	w := c.member.watches
	var found bool
	switch b.Type {
	case jute.WatcherChildren:
		found = w.child.remove(b.Path, c)
	case jute.WatcherData:
		found = w.data.remove(b.Path, c)
	case jute.WatcherAny:
		children, data := w.child.remove(b.Path, c), w.data.remove(b.Path, c)
		found = children || data
	default:
		return nil, jute.MarshallingError
	}
	return nil, watcherCode(found)
}

func watcherCode(found bool) jute.Code {
	if found {
		return jute.OK
	}
	return jute.NoWatcher
}
