package zktest

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// watches are the watches that one server keeps for its connections: two
// tables as in a real server, one for data and existence and one for children.
// Guarded by the lock of the Server.
type watches struct {
	data, child watchTable
}

func newWatches() *watches {
	return &watches{newWatchTable(), newWatchTable()}
}

type watchMode int8

const (
	watchOnce watchMode = iota
	watchPersistent
	watchRecursive
)

// A watchTable knows each watch by its path and by its connection.
type watchTable struct {
	paths map[string]map[*conn]watchMode
	conns map[*conn]map[string]struct{}
	// recursive counts watches of that mode, for it is only then that an
	// event has to look at all the parents.
	recursive int
}

func newWatchTable() watchTable {
	return watchTable{paths: map[string]map[*conn]watchMode{}, conns: map[*conn]map[string]struct{}{}}
}

// add sets a watch. The mode of an earlier one of the same connection on the
// same path is replaced.
func (t *watchTable) add(path string, c *conn, mode watchMode) {
	t.remove(path, c)
	if t.paths[path] == nil {
		t.paths[path] = map[*conn]watchMode{}
	}
	t.paths[path][c] = mode
	if t.conns[c] == nil {
		t.conns[c] = map[string]struct{}{}
	}
	t.conns[c][path] = struct{}{}
	if mode == watchRecursive {
		t.recursive++
	}
}

func (t *watchTable) remove(path string, c *conn) bool {
	mode, ok := t.paths[path][c]
	if !ok {
		return false
	}
	if delete(t.paths[path], c); len(t.paths[path]) == 0 {
		delete(t.paths, path)
	}
	if delete(t.conns[c], path); len(t.conns[c]) == 0 {
		delete(t.conns, c)
	}
	if mode == watchRecursive {
		t.recursive--
	}
	return true
}

func (t *watchTable) drop(c *conn) {
	for path := range t.conns[c] {
		t.remove(path, c)
	}
}

// has tells whether checkWatches finds a watch. As in a real server of 3.8,
// somebody else's watch on the path is taken for one's own.
func (t *watchTable) has(path string) bool { return len(t.paths[path]) > 0 }

func (t *watchTable) size() int {
	n := 0
	for _, conns := range t.paths {
		n += len(conns)
	}
	return n
}

// trigger returns the connections to tell of an event and removes the watches
// that are spent.
func (t *watchTable) trigger(typ jute.EventType, path string) map[*conn]struct{} {
	var told map[*conn]struct{}
	tell := func(c *conn) {
		if told == nil {
			told = map[*conn]struct{}{}
		}
		told[c] = struct{}{}
	}
	for c, mode := range t.paths[path] {
		switch mode {
		case watchOnce:
			t.remove(path, c)
			tell(c)
		case watchPersistent:
			tell(c)
		case watchRecursive:
			if typ != jute.EventChildrenChanged {
				tell(c)
			}
		}
	}
	if t.recursive > 0 && typ != jute.EventChildrenChanged {
		for dir := path; dir != "/"; {
			dir = rootName(dir[:strings.LastIndexByte(dir, '/')])
			for c, mode := range t.paths[dir] {
				if mode == watchRecursive {
					tell(c)
				}
			}
		}
	}
	return told
}

// fire tells of a change the connections that watch for it and may read what
// has changed. Like a real server it spends the watches of the others too.
func (w *watches) fire(typ jute.EventType, path string, acl []jute.ACL) {
	tell := func(to, but map[*conn]struct{}) {
		for c := range to {
			if _, done := but[c]; !done && allowed(acl, jute.PermRead, c.ids) {
				c.event(typ, path)
			}
		}
	}
	switch typ {
	case jute.EventCreated, jute.EventDataChanged:
		tell(w.data.trigger(typ, path), nil)
	case jute.EventChildrenChanged:
		tell(w.child.trigger(typ, path), nil)
	case jute.EventDeleted:
		// Who watches both ways is told once.
		told := w.data.trigger(typ, path)
		tell(told, nil)
		tell(w.child.trigger(typ, path), told)
	}
}

func (w *watches) drop(c *conn) {
	w.data.drop(c)
	w.child.drop(c)
}
