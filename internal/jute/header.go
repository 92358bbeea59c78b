package jute

// A RequestHeader opens every request after the handshake.
type RequestHeader struct {
	Xid int32
	Op  Op
}

func (r *RequestHeader) Fields(c Coder) {
	c.Int32(&r.Xid)
	c.Int32((*int32)(&r.Op))
}

// A ReplyHeader opens every reply and every watch event. Zxid is the last
// transaction the server had applied, -1 in events.
type ReplyHeader struct {
	Xid  int32
	Zxid int64
	Err  Code
}

func (r *ReplyHeader) Fields(c Coder) {
	c.Int32(&r.Xid)
	c.Int64(&r.Zxid)
	c.Int32((*int32)(&r.Err))
}

// A ConnectRequest opens a connection: a new session if SessionID is 0, the
// resumption of one otherwise. It has no header. ReadOnly follows it as a
// record of its own, because clients before 3.4 do not send it.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeoutMillis   int32
	SessionID       int64
	Password        []byte
}

func (r *ConnectRequest) Fields(c Coder) {
	c.Int32(&r.ProtocolVersion)
	c.Int64(&r.LastZxidSeen)
	c.Int32(&r.TimeoutMillis)
	c.Int64(&r.SessionID)
	c.Buffer(&r.Password)
}

// A ConnectResponse answers a ConnectRequest. A session id and a timeout of 0
// say that the session has expired.
type ConnectResponse struct {
	ProtocolVersion int32
	TimeoutMillis   int32
	SessionID       int64
	Password        []byte
}

func (r *ConnectResponse) Fields(c Coder) {
	c.Int32(&r.ProtocolVersion)
	c.Int32(&r.TimeoutMillis)
	c.Int64(&r.SessionID)
	c.Buffer(&r.Password)
}

// ReadOnly is the flag at the end of both handshake records. A client says
// that a read-only server will do; a server says whether it is one.
type ReadOnly bool

func (r *ReadOnly) Fields(c Coder) { c.Bool((*bool)(r)) }
