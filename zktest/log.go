package zktest

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// logSize is how many of the last entries the log keeps.
const logSize = 2000

// An eventLog keeps what happened of late. Entries become text only when
// somebody wants to read them. Guarded by the lock of the Server.
type eventLog struct {
	ring []entry
	next int
}

type entry struct {
	at      time.Time
	kind    string
	session int64
	op      jute.Op
	xid     int32
	zxid    int64
	path    string
	code    jute.Code
	text    string
	resumed bool
}

func (l *eventLog) add(e entry) {
	e.at = time.Now()
	if len(l.ring) < logSize {
		l.ring = append(l.ring, e)
		return
	}
	l.ring[l.next] = e
	l.next = (l.next + 1) % logSize
}

// Log shows the last requests, replies, events and faults as text.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for i := range s.log.ring {
		s.log.ring[(s.log.next+i)%len(s.log.ring)].write(&b)
	}
	return b.String()
}

func (e *entry) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s", e.at.Format("15:04:05.000000"), e.kind)
	if e.session != 0 {
		fmt.Fprintf(b, " session %#x", e.session)
	}
	if e.op != 0 {
		fmt.Fprintf(b, " %v", e.op)
	}
	if e.xid != 0 {
		fmt.Fprintf(b, " xid %d", e.xid)
	}
	if e.path != "" {
		fmt.Fprintf(b, " %q", e.path)
	}
	if e.zxid != 0 {
		fmt.Fprintf(b, " zxid %#x", e.zxid)
	}
	if e.kind == "reply" {
		fmt.Fprintf(b, " %s", e.code.String())
	}
	if e.resumed {
		b.WriteString(" again")
	}
	if e.text != "" {
		fmt.Fprintf(b, " %s", e.text)
	}
	b.WriteByte('\n')
}

// note counts and logs a request. Pings are counted only: an idle client
// would fill the log with them.
func (c *conn) note(r *request) {
	c.srv.count(r.op, c.session)
	c.last.op, c.last.xid = r.op, r.xid
	c.last.received++
	if r.op != jute.OpPing {
		c.srv.log.add(entry{kind: "request", session: c.session, op: r.op, xid: r.xid, path: r.path()})
	}
}
