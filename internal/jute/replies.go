package jute

// PathReply is the body of the replies to create and sync.
type PathReply struct{ Path string }

func (r *PathReply) Fields(c Coder) { c.String(&r.Path) }

// StatReply is the body of the replies to exists, setData and setACL.
type StatReply struct{ Stat Stat }

func (r *StatReply) Fields(c Coder) { r.Stat.Fields(c) }

// CreateReply is the body of the replies to create2, createContainer and
// createTTL.
type CreateReply struct {
	Path string
	Stat Stat
}

func (r *CreateReply) Fields(c Coder) {
	c.String(&r.Path)
	r.Stat.Fields(c)
}

// DataReply is the body of the reply to getData.
type DataReply struct {
	Data []byte
	Stat Stat
}

func (r *DataReply) Fields(c Coder) {
	c.Buffer(&r.Data)
	r.Stat.Fields(c)
}

// ListReply is the body of the replies to getChildren and getEphemerals.
type ListReply struct{ Names []string }

func (r *ListReply) Fields(c Coder) { stringVector(c, &r.Names) }

// ChildrenReply is the body of the reply to getChildren2.
type ChildrenReply struct {
	Names []string
	Stat  Stat
}

func (r *ChildrenReply) Fields(c Coder) {
	stringVector(c, &r.Names)
	r.Stat.Fields(c)
}

// ACLReply is the body of the reply to getACL.
type ACLReply struct {
	ACL  []ACL
	Stat Stat
}

func (r *ACLReply) Fields(c Coder) {
	aclVector(c, &r.ACL)
	r.Stat.Fields(c)
}

// NumberReply is the body of the reply to getAllChildrenNumber and, as an
// error code, of that to addWatch.
type NumberReply struct{ N int32 }

func (r *NumberReply) Fields(c Coder) { c.Int32(&r.N) }

// ClientInfo is an identity of a connection, its secret left out.
type ClientInfo struct {
	Scheme string
	User   string
}

// WhoAmIReply is the body of the reply to whoAmI.
type WhoAmIReply struct{ Clients []ClientInfo }

func (r *WhoAmIReply) Fields(c Coder) {
	vector(c, &r.Clients, 8, func(i *ClientInfo) {
		c.String(&i.Scheme)
		c.String(&i.User)
	})
}
