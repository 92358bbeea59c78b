package jute

// PathRequest is the body of requests that name a path and nothing else: sync,
// getACL, getAllChildrenNumber and, as a prefix, getEphemerals.
type PathRequest struct{ Path string }

func (r *PathRequest) Fields(c Coder) { c.String(&r.Path) }

// PathWatchRequest is the body of exists, getData, getChildren and
// getChildren2.
type PathWatchRequest struct {
	Path  string
	Watch bool
}

func (r *PathWatchRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Bool(&r.Watch)
}

// PathVersionRequest is the body of delete and check. Version -1 means any.
type PathVersionRequest struct {
	Path    string
	Version int32
}

func (r *PathVersionRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Int32(&r.Version)
}

// CreateRequest is the body of create, create2 and createContainer.
type CreateRequest struct {
	Path  string
	Data  []byte
	ACL   []ACL
	Flags int32
}

func (r *CreateRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Buffer(&r.Data)
	aclVector(c, &r.ACL)
	c.Int32(&r.Flags)
}

// CreateTTLRequest is the body of createTTL.
type CreateTTLRequest struct {
	CreateRequest
	TTLMillis int64
}

func (r *CreateTTLRequest) Fields(c Coder) {
	r.CreateRequest.Fields(c)
	c.Int64(&r.TTLMillis)
}

// SetDataRequest is the body of setData.
type SetDataRequest struct {
	Path    string
	Data    []byte
	Version int32
}

func (r *SetDataRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Buffer(&r.Data)
	c.Int32(&r.Version)
}

// SetACLRequest is the body of setACL.
type SetACLRequest struct {
	Path    string
	ACL     []ACL
	Version int32
}

func (r *SetACLRequest) Fields(c Coder) {
	c.String(&r.Path)
	aclVector(c, &r.ACL)
	c.Int32(&r.Version)
}

// AuthRequest is the body of auth.
type AuthRequest struct {
	Type   int32
	Scheme string
	Auth   []byte
}

func (r *AuthRequest) Fields(c Coder) {
	c.Int32(&r.Type)
	c.String(&r.Scheme)
	c.Buffer(&r.Auth)
}

// Empty is the body of requests and replies that have none.
type Empty struct{}

func (*Empty) Fields(Coder) {}
