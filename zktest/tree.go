package zktest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A tree is the data of one server: the znodes and who owns the ephemeral
// ones. Only transactions change it. It is guarded by the lock of its Server.
type tree struct {
	nodes      map[string]*node // the root under "" and "/", as in a real one
	ephemerals map[int64]map[string]struct{}
	reapable   map[string]struct{} // containers and nodes with a time to live
	zxid       int64               // of the last transaction applied
	// fire tells of a change to what has the ACL.
	fire func(typ jute.EventType, path string, acl []jute.ACL)
}

// A node is a znode. Its cversion counts the creations of children; what
// clients see as cversion is computed from it.
type node struct {
	data     []byte
	acl      []jute.ACL
	children map[string]struct{}
	owner    int64 // as in ownerSession, ownerContainer, ownerTTL

	czxid, mzxid, pzxid         int64
	ctime, mtime                int64
	version, cversion, aversion int32
}

func newTree() *tree {
	root := &node{acl: openACL, children: map[string]struct{}{"zookeeper": {}}}
	return &tree{
		nodes: map[string]*node{
			"": root, "/": root,
			"/zookeeper":        {acl: openACL, children: map[string]struct{}{"quota": {}, "config": {}}},
			"/zookeeper/quota":  {acl: openACL},
			"/zookeeper/config": {acl: []jute.ACL{{Perms: jute.PermRead, Scheme: "world", ID: "anyone"}}, aversion: -1, data: []byte{}},
		},
		ephemerals: map[int64]map[string]struct{}{},
		reapable:   map[string]struct{}{},
	}
}

// clone copies the tree, as a follower does that catches up by a snapshot.
func (t *tree) clone() *tree {
	c := &tree{
		nodes:      make(map[string]*node, len(t.nodes)),
		ephemerals: make(map[int64]map[string]struct{}, len(t.ephemerals)),
		reapable:   maps.Clone(t.reapable),
		zxid:       t.zxid,
	}
	for p, n := range t.nodes {
		if p == "" {
			continue
		}
		m := *n
		m.children = maps.Clone(n.children)
		c.nodes[p] = &m
	}
	c.nodes[""] = c.nodes["/"]
	for id, paths := range t.ephemerals {
		c.ephemerals[id] = maps.Clone(paths)
	}
	return c
}

func (n *node) stat() jute.Stat {
	s := jute.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion,
		Cversion:   n.cversion*2 - int32(len(n.children)),
		DataLength: int32(len(n.data)), NumChildren: int32(len(n.children)),
	}
	if ownerKind(n.owner) == ownerSession {
		s.EphemeralOwner = n.owner
	}
	return s
}

// names lists the children in an order that is neither sorted nor that of
// creation, so that a client that relies on either is found out, and that is
// the same in every run.
func (n *node) names() []string {
	type entry struct {
		hash uint32
		name string
	}
	entries := make([]entry, 0, len(n.children))
	for name := range n.children {
		entries = append(entries, entry{scatter(name), name})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.name, b.name))
	})
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	return names
}

func scatter(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}

// ephemeralsOf lists the ephemerals of a session in the order of their paths.
func (t *tree) ephemeralsOf(session int64) []string {
	return slices.Sorted(maps.Keys(t.ephemerals[session]))
}

// The owner of a znode is 0, a session, or says what kind of node it is.
type kind int

const (
	ownerNone kind = iota
	ownerSession
	ownerContainer
	ownerTTL
)

const (
	containerOwner int64 = -1 << 63
	ttlMask        int64 = -1 << 56
	maxTTL         int64 = 1<<40 - 1
)

func ownerKind(owner int64) kind {
	switch {
	case owner == 0:
		return ownerNone
	case owner == containerOwner:
		return ownerContainer
	case owner&ttlMask == ttlMask:
		return ownerTTL
	}
	return ownerSession
}
