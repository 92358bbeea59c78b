package jute

// A Stat describes a znode.
type Stat struct {
	Czxid          int64 // transaction that created it
	Mzxid          int64 // transaction that last set its data
	Ctime          int64 // creation, milliseconds since 1970
	Mtime          int64 // last setting of its data
	Version        int32 // changes of its data
	Cversion       int32 // changes of its children: 2 × creations − children
	Aversion       int32 // changes of its ACL
	EphemeralOwner int64 // session that owns it, 0 if none
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // transaction that last changed its children
}

func (s *Stat) Fields(c Coder) {
	c.Int64(&s.Czxid)
	c.Int64(&s.Mzxid)
	c.Int64(&s.Ctime)
	c.Int64(&s.Mtime)
	c.Int32(&s.Version)
	c.Int32(&s.Cversion)
	c.Int32(&s.Aversion)
	c.Int64(&s.EphemeralOwner)
	c.Int32(&s.DataLength)
	c.Int32(&s.NumChildren)
	c.Int64(&s.Pzxid)
}

// Permissions of an ACL.
const (
	PermRead int32 = 1 << iota
	PermWrite
	PermCreate
	PermDelete
	PermAdmin
	PermAll int32 = 1<<iota - 1
)

// An ACL grants permissions to whoever matches an identity.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

func (a *ACL) Fields(c Coder) {
	c.Int32(&a.Perms)
	c.String(&a.Scheme)
	c.String(&a.ID)
}

// OpenACL lets everybody do everything.
func OpenACL() []ACL { return []ACL{{PermAll, "world", "anyone"}} }

func aclVector(c Coder, v *[]ACL) { vector(c, v, 12, func(a *ACL) { a.Fields(c) }) }

// Modes of a znode, the Flags of the create requests.
const (
	ModePersistent          int32 = 0
	ModeEphemeral           int32 = 1
	ModeSequential          int32 = 2
	ModeEphemeralSequential int32 = 3
	ModeContainer           int32 = 4
	ModeTTL                 int32 = 5
	ModeSequentialTTL       int32 = 6
)
