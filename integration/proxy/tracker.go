package proxy

import (
	"io"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// request reads the client's next frame and carries out what was ordered for
// it.
func (t *tracker) request(r io.Reader) ([]byte, error) {
	if t.raw() {
		return readSome(r)
	}
	f, err := readFrame(r)
	if f.unframed {
		t.setRaw()
	}
	if err != nil || f.unframed {
		return f.data, err
	}
	if t.first(&t.greeted) {
		t.shared.greet(f.long(4))
		return f.data, nil
	}
	if jute.Op(f.word(1)) == jute.OpPing {
		t.shared.count(func(c *Counts) { c.Pings++ })
		return f.data, nil
	}
	return t.judge(f)
}

func (t *tracker) judge(f frame) ([]byte, error) {
	req := Request{Session: t.sessionID(), Xid: f.word(0), Op: jute.Op(f.word(1)), Body: f.data[min(len(f.data), headerSize+8):]}
	verdict, hit := t.shared.judge(req)
	switch verdict {
	case DropRequest:
		return nil, &cutError{req, hit}
	case DropReply:
		t.mu.Lock()
		t.dropping = &cutError{req, hit}
		t.mu.Unlock()
	}
	return f.data, nil
}

// reply reads the server's next frame and drops the one that was ordered
// dropped.
func (t *tracker) reply(r io.Reader) ([]byte, error) {
	if t.raw() {
		return readSome(r)
	}
	f, err := readFrame(r)
	// The client spoke first, so by now it is known whether it speaks the
	// protocol; the answer to a four-letter word may look like anything.
	if f.unframed || t.raw() {
		t.setRaw()
		return f.data, err
	}
	if err != nil {
		return f.data, err
	}
	if t.first(&t.answered) {
		t.setSession(f.long(2))
	} else if cut := t.drops(f.word(0)); cut != nil {
		return nil, cut
	}
	t.shared.count(func(c *Counts) {
		c.BytesToClient += len(f.data)
		if f.word(0) == jute.XidNotification && len(f.data) > headerSize {
			c.Events++
		}
	})
	return f.data, nil
}

// drops returns the cut that was ordered instead of the reply to xid, or nil.
func (t *tracker) drops(xid int32) *cutError {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropping == nil || t.dropping.request.Xid != xid {
		return nil
	}
	return t.dropping
}

// first sets flag and tells whether it was unset.
func (t *tracker) first(flag *bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := *flag
	*flag = true
	return !was
}

func (t *tracker) raw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unframed
}

func (t *tracker) setRaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unframed = true
}

func (t *tracker) sessionID() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session
}

func (t *tracker) setSession(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = id
}

// readSome reads what there is.
func readSome(r io.Reader) ([]byte, error) {
	buf := make([]byte, 4<<10)
	n, err := r.Read(buf)
	return buf[:n], err
}
