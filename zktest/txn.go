package zktest

import "github.com/zkrecipes/zkrecipes/internal/jute"

// A txn is a committed transaction: what every server of the ensemble applies
// in the same order. Failed writes are transactions too, as in a real server.
type txn struct {
	zxid    int64
	millis  int64 // the leader's wall clock, which becomes ctime and mtime
	session int64
	op      jute.Op
	changes []change // one, or those of a multi
	failed  bool     // nothing is changed
	req     *request // whom to answer, nil for what a server does by itself
}

// A change is one operation, worked out by the leader so that applying it
// cannot fail.
type change struct {
	op       jute.Op
	path     string
	data     []byte
	acl      []jute.ACL
	owner    int64
	cversion int32 // of the parent after a creation
	version  int32 // of data or ACL after the change
	paths    []string
	err      jute.Code // if op is OpError
}

// A result is what applying a change says to the client.
type result struct {
	op   jute.Op
	path string
	stat jute.Stat
	err  jute.Code
}

// apply applies a transaction and returns a result for each of its changes.
func (t *tree) apply(x *txn) []result {
	results := make([]result, len(x.changes))
	for i := range x.changes {
		results[i] = t.change(x, &x.changes[i])
	}
	t.zxid = x.zxid
	return results
}

func (t *tree) change(x *txn, c *change) result {
	r := result{op: c.op, path: c.path, err: c.err}
	switch c.op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		r.stat = t.create(x, c)
	case jute.OpDelete, jute.OpDeleteContainer:
		t.delete(x, c.path)
	case jute.OpSetData:
		r.stat = t.setData(x, c)
	case jute.OpSetACL:
		r.stat = t.setACL(c)
	case jute.OpCloseSession:
		for _, p := range c.paths {
			t.delete(x, p)
		}
		delete(t.ephemerals, x.session)
	}
	return r
}

func (t *tree) create(x *txn, c *change) jute.Stat {
	dir, _ := parentOf(c.path)
	parent := t.nodes[dir]
	// Past the end of its range the counter goes negative and is not taken
	// over: it sticks, and so does the time of the last change.
	if c.cversion > parent.cversion {
		parent.cversion = c.cversion
		parent.pzxid = x.zxid
	}
	if parent.children == nil {
		parent.children = map[string]struct{}{}
	}
	parent.children[baseOf(c.path)] = struct{}{}
	n := &node{
		data: c.data, acl: c.acl, owner: c.owner,
		czxid: x.zxid, mzxid: x.zxid, pzxid: x.zxid, ctime: x.millis, mtime: x.millis,
	}
	t.nodes[c.path] = n
	t.own(c.path, n)
	stat := n.stat()
	t.fire(jute.EventCreated, c.path, n.acl)
	t.fire(jute.EventChildrenChanged, rootName(dir), parent.acl)
	return stat
}

func (t *tree) own(path string, n *node) {
	switch ownerKind(n.owner) {
	case ownerContainer, ownerTTL:
		t.reapable[path] = struct{}{}
	case ownerSession:
		paths := t.ephemerals[n.owner]
		if paths == nil {
			paths = map[string]struct{}{}
			t.ephemerals[n.owner] = paths
		}
		paths[path] = struct{}{}
	}
}

func (t *tree) delete(x *txn, path string) {
	n := t.nodes[path]
	dir, _ := parentOf(path)
	parent := t.nodes[dir]
	delete(parent.children, baseOf(path))
	if len(parent.children) == 0 {
		parent.children = nil
	}
	parent.pzxid = max(parent.pzxid, x.zxid)
	delete(t.nodes, path)
	delete(t.reapable, path)
	if ownerKind(n.owner) == ownerSession {
		delete(t.ephemerals[n.owner], path)
	}
	t.fire(jute.EventDeleted, path, n.acl)
	t.fire(jute.EventChildrenChanged, rootName(dir), parent.acl)
}

func (t *tree) setData(x *txn, c *change) jute.Stat {
	n := t.nodes[c.path]
	n.data, n.version, n.mzxid, n.mtime = c.data, c.version, x.zxid, x.millis
	t.fire(jute.EventDataChanged, c.path, n.acl)
	return n.stat()
}

func (t *tree) setACL(c *change) jute.Stat {
	n := t.nodes[c.path]
	n.acl, n.aversion = c.acl, c.version
	return n.stat()
}
