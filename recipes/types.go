package recipes

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// Stat is what ZooKeeper keeps about a znode. Transaction ids order all
// changes of an ensemble.
type Stat struct {
	Czxid          int64     // transaction that created the znode
	Mzxid          int64     // transaction that last changed its data
	Pzxid          int64     // transaction that last changed its children
	Created        time.Time // by the server's clock
	Modified       time.Time // by the server's clock
	Version        int32     // number of changes of the data
	Cversion       int32     // number of changes of the children
	Aversion       int32     // number of changes of the ACL
	EphemeralOwner int64     // session that an ephemeral znode belongs to, else 0
	DataLength     int32
	NumChildren    int32
}

func newStat(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid,
		Created: time.UnixMilli(s.Ctime), Modified: time.UnixMilli(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner,
		DataLength:     s.DataLength, NumChildren: s.NumChildren,
	}
}

// Perm is a set of permissions on a znode.
type Perm int32

// Permissions.
const (
	PermRead   Perm = zk.PermRead
	PermWrite  Perm = zk.PermWrite
	PermCreate Perm = zk.PermCreate
	PermDelete Perm = zk.PermDelete
	PermAdmin  Perm = zk.PermAdmin
	PermAll    Perm = zk.PermAll
)

// ACL grants permissions to an identity of a scheme. ACLs do not reach down to
// children.
type ACL struct {
	Perms  Perm
	Scheme string
	ID     string
}

// WorldACL grants perms to everybody.
func WorldACL(perms Perm) []ACL { return fromZK(zk.WorldACL(int32(perms))) }

// CreatorACL grants perms to whoever the creating connection authenticated as.
func CreatorACL(perms Perm) []ACL { return fromZK(zk.AuthACL(int32(perms))) }

// DigestACL grants perms to a user of the digest scheme. Only a hash of the
// password is kept.
func DigestACL(perms Perm, user, password string) []ACL {
	return fromZK(zk.DigestACL(int32(perms), user, password))
}

func fromZK(acl []zk.ACL) []ACL {
	out := make([]ACL, len(acl))
	for i, a := range acl {
		out[i] = ACL{Perm(a.Perms), a.Scheme, a.ID}
	}
	return out
}

func toZK(acl []ACL) []zk.ACL {
	out := make([]zk.ACL, len(acl))
	for i, a := range acl {
		out[i] = zk.ACL{Perms: int32(a.Perms), Scheme: a.Scheme, ID: a.ID}
	}
	return out
}

// Mode is the kind of znode to create.
type Mode int

// Kinds of znodes. Sequential ones get a number behind their name; ephemeral
// ones go with their session; a container is deleted by the server some time
// after its last child.
const (
	Persistent Mode = iota
	PersistentSequential
	Ephemeral
	EphemeralSequential
	Container
)

func (m Mode) flags() int32 {
	switch m {
	case PersistentSequential:
		return zk.FlagSequence
	case Ephemeral:
		return zk.FlagEphemeral
	case EphemeralSequential:
		return zk.FlagEphemeral | zk.FlagSequence
	case Container:
		return zk.FlagContainer
	}
	return 0
}

// check refuses what no constant of Mode stands for.
func (m Mode) check(path string) error {
	if m < Persistent || m > Container {
		return fmt.Errorf("recipes: create %s: unknown mode %d", path, m)
	}
	return nil
}

func (m Mode) ephemeral() bool { return m == Ephemeral || m == EphemeralSequential }
