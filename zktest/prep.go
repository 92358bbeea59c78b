package zktest

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A prep works out, at the leader, what a write will change, or why it fails.
// The order of its checks is that of a real server, because it decides which
// of several errors a client sees.
type prep struct {
	tree     *tree
	session  int64
	ids      []identity
	checkTTL bool // whether nodes with a time to live are allowed

	// deadly is set if a real server would not survive the request.
	deadly bool

	// pending holds, in a multi, what its earlier operations will have done.
	// It is nil outside one.
	pending map[string]*record
}

// A record is what the checks need to know of a znode.
type record struct {
	gone                        bool
	version, cversion, aversion int32
	owner                       int64
	children                    int
	acl                         []jute.ACL
}

func (p *prep) lookup(path string) (record, bool) {
	if r := p.pending[path]; r != nil {
		return *r, !r.gone
	}
	n := p.tree.nodes[path]
	if n == nil {
		return record{}, false
	}
	return record{
		version: n.version, cversion: n.cversion, aversion: n.aversion,
		owner: n.owner, children: len(n.children), acl: n.acl,
	}, true
}

func (p *prep) remember(path string, r record) {
	if p.pending != nil {
		p.pending[path] = &r
	}
}

// change works out one operation.
func (p *prep) change(op jute.Op, body jute.Record) (change, jute.Code) {
	switch b := body.(type) {
	case *jute.CreateRequest:
		return p.create(op, b, -1)
	case *jute.CreateTTLRequest:
		return p.create(op, &b.CreateRequest, b.TTLMillis)
	case *jute.SetDataRequest:
		return p.setData(b)
	case *jute.SetACLRequest:
		return p.setACL(b)
	case *jute.PathVersionRequest:
		if op == jute.OpDelete {
			return p.delete(b)
		}
		return p.check(b)
	}
	panic(fmt.Sprintf("zktest: no write: %v", op))
}

func (p *prep) create(op jute.Op, b *jute.CreateRequest, ttl int64) (change, jute.Code) {
	owner, code := p.newOwner(op, b.Flags, ttl)
	if code != jute.OK {
		return change{}, code
	}
	dir, ok := parentOf(b.Path)
	if !ok {
		return change{}, jute.BadArguments
	}
	acl, code := fixACL(b.ACL, p.ids)
	if code != jute.OK {
		return change{}, code
	}
	parent, ok := p.lookup(dir)
	if !ok {
		return change{}, jute.NoNode
	}
	if !allowed(parent.acl, jute.PermCreate, p.ids) {
		return change{}, jute.NoAuth
	}
	path := b.Path
	if sequential(b.Flags) {
		path += fmt.Sprintf("%010d", parent.cversion)
	}
	if !validPath(path) {
		return change{}, jute.BadArguments
	}
	if _, exists := p.lookup(path); exists {
		return change{}, jute.NodeExists
	}
	if ownerKind(parent.owner) == ownerSession {
		return change{}, jute.NoChildrenForEphemerals
	}
	parent.cversion++
	parent.children++
	p.remember(dir, parent)
	p.remember(path, record{owner: owner, acl: acl})
	return change{op: op, path: path, data: b.Data, acl: acl, owner: owner, cversion: parent.cversion}, jute.OK
}

func sequential(flags int32) bool {
	switch flags {
	case jute.ModeSequential, jute.ModeEphemeralSequential, jute.ModeSequentialTTL:
		return true
	}
	return false
}

// newOwner returns the owner of a znode to be made. It is the operation that
// decides: the flag of a container means nothing in a plain create.
func (p *prep) newOwner(op jute.Op, flags int32, ttl int64) (int64, jute.Code) {
	hasTTL := flags == jute.ModeTTL || flags == jute.ModeSequentialTTL
	switch {
	case flags < jute.ModePersistent || flags > jute.ModeSequentialTTL:
		return 0, jute.BadArguments
	case hasTTL && !p.checkTTL:
		return 0, jute.Unimplemented
	case hasTTL && (ttl <= 0 || ttl > maxTTL), !hasTTL && ttl >= 0:
		return 0, jute.BadArguments
	}
	ephemeral := flags == jute.ModeEphemeral || flags == jute.ModeEphemeralSequential
	switch {
	case op == jute.OpCreateContainer:
		return containerOwner, jute.OK
	case op == jute.OpCreateTTL && ttl < 0:
		p.deadly = true // a real server checks this too late, and dies of it
		return 0, jute.BadArguments
	case op == jute.OpCreateTTL:
		return ttlMask | ttl, jute.OK
	case ephemeral:
		return p.session, jute.OK
	}
	return 0, jute.OK
}

func (p *prep) delete(b *jute.PathVersionRequest) (change, jute.Code) {
	dir, ok := parentOf(b.Path)
	if !ok || special(b.Path) {
		return change{}, jute.BadArguments
	}
	parent, ok := p.lookup(dir)
	if !ok {
		return change{}, jute.NoNode
	}
	if !allowed(parent.acl, jute.PermDelete, p.ids) {
		return change{}, jute.NoAuth
	}
	n, ok := p.lookup(b.Path)
	if !ok {
		return change{}, jute.NoNode
	}
	if !versionFits(n.version, b.Version) {
		return change{}, jute.BadVersion
	}
	if n.children > 0 {
		return change{}, jute.NotEmpty
	}
	parent.children--
	p.remember(dir, parent)
	p.remember(b.Path, record{gone: true})
	return change{op: jute.OpDelete, path: b.Path}, jute.OK
}

func (p *prep) setData(b *jute.SetDataRequest) (change, jute.Code) {
	n, code := p.existing(b.Path, jute.PermWrite)
	if code != jute.OK {
		return change{}, code
	}
	if !versionFits(n.version, b.Version) {
		return change{}, jute.BadVersion
	}
	n.version++
	p.remember(b.Path, n)
	return change{op: jute.OpSetData, path: b.Path, data: b.Data, version: n.version}, jute.OK
}

func (p *prep) check(b *jute.PathVersionRequest) (change, jute.Code) {
	n, code := p.existing(b.Path, jute.PermRead)
	if code == jute.OK && !versionFits(n.version, b.Version) {
		code = jute.BadVersion
	}
	return change{op: jute.OpCheck, path: b.Path}, code
}

func (p *prep) setACL(b *jute.SetACLRequest) (change, jute.Code) {
	if !validPath(b.Path) {
		return change{}, jute.BadArguments
	}
	acl, code := fixACL(b.ACL, p.ids)
	if code != jute.OK {
		return change{}, code
	}
	n, code := p.existing(b.Path, jute.PermAdmin)
	if code != jute.OK {
		return change{}, code
	}
	if !versionFits(n.aversion, b.Version) {
		return change{}, jute.BadVersion
	}
	return change{op: jute.OpSetACL, path: b.Path, acl: acl, version: n.aversion + 1}, jute.OK
}

// existing returns a znode that is there and on which the client may do what
// perm says.
func (p *prep) existing(path string, perm int32) (record, jute.Code) {
	if !validPath(path) {
		return record{}, jute.BadArguments
	}
	n, ok := p.lookup(path)
	switch {
	case !ok:
		return record{}, jute.NoNode
	case !allowed(n.acl, perm, p.ids):
		return record{}, jute.NoAuth
	}
	return n, jute.OK
}

func versionFits(version, expected int32) bool { return expected == -1 || expected == version }
