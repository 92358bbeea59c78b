package jute

// A multiHeader precedes every operation and result of a multi; one with done
// set ends the list.
type multiHeader struct {
	op   Op
	done bool
	err  Code
}

func (h *multiHeader) Fields(c Coder) {
	c.Int32((*int32)(&h.op))
	c.Bool(&h.done)
	c.Int32((*int32)(&h.err))
}

var multiEnd = multiHeader{op: OpError, done: true, err: -1}

// A MultiOp is one operation of a multi. Its body is that of the operation on
// its own.
type MultiOp struct {
	Op   Op
	Body Record
}

// MultiRequest is the body of multi, whose operations all happen or none, and
// of multiRead, which is a list of getData and getChildren.
type MultiRequest struct{ Ops []MultiOp }

func (r *MultiRequest) Fields(c Coder) {
	if d, ok := c.(*Decoder); ok {
		r.decode(d)
		return
	}
	for i := range r.Ops {
		h := multiHeader{op: r.Ops[i].Op, err: -1}
		h.Fields(c)
		r.Ops[i].Body.Fields(c)
	}
	h := multiEnd
	h.Fields(c)
}

func (r *MultiRequest) decode(d *Decoder) {
	r.Ops = nil
	for d.err == nil {
		var h multiHeader
		h.Fields(d)
		if h.done || d.err != nil {
			return
		}
		body := requestInMulti(h.op)
		if body == nil {
			d.fail(ErrOp)
			return
		}
		body.Fields(d)
		r.Ops = append(r.Ops, MultiOp{h.op, body})
	}
}

func requestInMulti(op Op) Record {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return new(CreateRequest)
	case OpCreateTTL:
		return new(CreateTTLRequest)
	case OpDelete, OpCheck:
		return new(PathVersionRequest)
	case OpSetData:
		return new(SetDataRequest)
	case OpGetData, OpGetChildren:
		return new(PathWatchRequest)
	}
	return nil
}

// A MultiResult is the outcome of one operation of a multi. Op is OpError if
// it failed; Err then says why. Body is nil where the operation has no reply.
type MultiResult struct {
	Op   Op
	Err  Code
	Body Record
}

// MultiReply is the body of the replies to multi and multiRead.
type MultiReply struct{ Results []MultiResult }

func (r *MultiReply) Fields(c Coder) {
	if d, ok := c.(*Decoder); ok {
		r.decode(d)
		return
	}
	for i := range r.Results {
		res := &r.Results[i]
		h := multiHeader{op: res.Op, err: res.Err}
		h.Fields(c)
		switch {
		case res.Op == OpError:
			c.Int32((*int32)(&res.Err))
		case res.Body != nil:
			res.Body.Fields(c)
		}
	}
	h := multiEnd
	h.Fields(c)
}

func (r *MultiReply) decode(d *Decoder) {
	r.Results = nil
	for d.err == nil {
		var h multiHeader
		h.Fields(d)
		if h.done || d.err != nil {
			return
		}
		res := MultiResult{Op: h.op, Err: h.err}
		switch h.op {
		case OpCreate:
			res.Body = new(PathReply)
		case OpCreate2:
			res.Body = new(CreateReply)
		case OpSetData:
			res.Body = new(StatReply)
		case OpGetData:
			res.Body = new(DataReply)
		case OpGetChildren:
			res.Body = new(ListReply)
		case OpDelete, OpCheck:
		case OpError:
			d.Int32((*int32)(&res.Err))
		default:
			d.fail(ErrOp)
			return
		}
		if res.Body != nil {
			res.Body.Fields(d)
		}
		r.Results = append(r.Results, res)
	}
}
