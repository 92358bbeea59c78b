package zktest

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// readable returns a znode that the client may read. Paths are not validated
// in reads: a malformed one names no znode.
func (c *conn) readable(path string, perm int32) (*node, jute.Code) {
	n := c.member.tree.nodes[path]
	switch {
	case n == nil:
		return nil, jute.NoNode
	case !allowed(n.acl, perm, c.ids):
		return nil, jute.NoAuth
	}
	return n, jute.OK
}

// exists needs no permission in 3.8, and leaves a watch on what is not there.
func exists(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.PathWatchRequest)
	if strings.IndexByte(b.Path, 0) >= 0 {
		return nil, jute.BadArguments
	}
	if b.Watch {
		c.member.watches.data.add(b.Path, c, watchOnce)
	}
	n := c.member.tree.nodes[b.Path]
	if n == nil {
		return nil, jute.NoNode
	}
	return &jute.StatReply{Stat: n.stat()}, jute.OK
}

func getData(c *conn, body jute.Record) (jute.Record, jute.Code) {
	b := body.(*jute.PathWatchRequest)
	n, code := c.readable(b.Path, jute.PermRead)
	if code != jute.OK {
		return nil, code
	}
	if b.Watch {
		c.member.watches.data.add(b.Path, c, watchOnce)
	}
	return &jute.DataReply{Data: n.data, Stat: n.stat()}, jute.OK
}

func getChildren(c *conn, body jute.Record) (jute.Record, jute.Code) {
	n, code := c.list(body)
	if code != jute.OK {
		return nil, code
	}
	return &jute.ListReply{Names: n.names()}, jute.OK
}

func getChildren2(c *conn, body jute.Record) (jute.Record, jute.Code) {
	n, code := c.list(body)
	if code != jute.OK {
		return nil, code
	}
	return &jute.ChildrenReply{Names: n.names(), Stat: n.stat()}, jute.OK
}

func (c *conn) list(body jute.Record) (*node, jute.Code) {
	b := body.(*jute.PathWatchRequest)
	n, code := c.readable(b.Path, jute.PermRead)
	if code == jute.OK && b.Watch {
		c.member.watches.child.add(b.Path, c, watchOnce)
	}
	return n, code
}

func getAllChildrenNumber(c *conn, body jute.Record) (jute.Record, jute.Code) {
	path := body.(*jute.PathRequest).Path
	if _, code := c.readable(path, jute.PermRead); code != jute.OK {
		return nil, code
	}
	nodes := c.member.tree.nodes
	if path == "/" {
		return &jute.NumberReply{N: int32(len(nodes) - 2)}, jute.OK
	}
	total := int32(0)
	for p := range nodes {
		if strings.HasPrefix(p, path+"/") {
			total++
		}
	}
	return &jute.NumberReply{N: total}, jute.OK
}

// getEphemerals lists those of the own session below a prefix.
func getEphemerals(c *conn, body jute.Record) (jute.Record, jute.Code) {
	prefix := body.(*jute.PathRequest).Path
	names := []string{}
	for _, p := range c.member.tree.ephemeralsOf(c.session) {
		if t := strings.TrimSpace(prefix); t == "" || t == "/" || strings.HasPrefix(p, prefix) {
			names = append(names, p)
		}
	}
	return &jute.ListReply{Names: names}, jute.OK
}

func getACL(c *conn, body jute.Record) (jute.Record, jute.Code) {
	path := body.(*jute.PathRequest).Path
	n, code := c.readable(path, jute.PermRead|jute.PermAdmin)
	if code != jute.OK {
		return nil, code
	}
	acl := n.acl
	if !allowed(acl, jute.PermAdmin, c.ids) {
		acl = redacted(acl)
	}
	return &jute.ACLReply{ACL: acl, Stat: n.stat()}, jute.OK
}
