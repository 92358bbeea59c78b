package proxy

import (
	"maps"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// Request is a request that a client has sent.
type Request struct {
	Session int64 // 0 before the server has answered the handshake
	Xid     int32
	Op      jute.Op
	Body    []byte // the record behind the header; not to be changed
}

// Verdict is what is done with a request.
type Verdict int

const (
	// Forward lets the request pass.
	Forward Verdict = iota
	// DropRequest resets the connection; the server never sees the request.
	DropRequest
	// DropReply forwards the request, waits for the server's reply and resets
	// the connection instead of delivering it: the request was carried out and
	// the client does not know.
	DropReply
)

// Counts is what has passed a proxy that follows the protocol.
type Counts struct {
	Requests      map[jute.Op]int // by operation code, pings and handshakes left out
	Pings         int
	Handshakes    int
	Events        int // watch events
	BytesToClient int
}

// Total is the number of requests, pings and handshakes left out.
func (c Counts) Total() int {
	n := 0
	for _, k := range c.Requests {
		n += k
	}
	return n
}

// tracking is what the connections of a proxy share.
type tracking struct {
	mu        sync.Mutex
	counts    Counts
	intercept func(Request) Verdict
	onResume  func(session int64)
	cuts      []*pendingCut
}

// pendingCut waits for the n-th request of op.
type pendingCut struct {
	op      jute.Op
	left    int
	verdict Verdict
	hit     chan Request
}

func newTracking() *tracking {
	return &tracking{counts: Counts{Requests: make(map[jute.Op]int)}}
}

// CutBefore resets the connection of the n-th request of op from now on (n = 1
// is the next one) before the server sees it. The channel receives that request
// once the connection is cut. It panics on a proxy made without [ZooKeeper].
func (p *Proxy) CutBefore(op jute.Op, n int) <-chan Request {
	return p.mustTrack().cut(op, n, DropRequest)
}

// CutAfter is CutBefore after the server has carried the request out: its
// reply is dropped. If the connection ends before the reply, the channel
// receives nothing.
func (p *Proxy) CutAfter(op jute.Op, n int) <-chan Request {
	return p.mustTrack().cut(op, n, DropReply)
}

// Intercept asks f about every request but pings, before it is forwarded, one
// at a time over all connections; nil ends it. f may set flows. It must not
// call the proxy's Intercept, CutBefore or CutAfter.
func (p *Proxy) Intercept(f func(Request) Verdict) {
	t := p.mustTrack()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.intercept = f
}

// OnResume calls f before a handshake that asks for an old session is forwarded;
// nil ends it. f may set flows. It must not call the proxy's other methods of
// this kind.
func (p *Proxy) OnResume(f func(session int64)) {
	t := p.mustTrack()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onResume = f
}

// ClearCuts forgets every cut that has not been hit.
func (p *Proxy) ClearCuts() {
	t := p.mustTrack()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cuts = nil
}

// Counts returns what has passed so far.
func (p *Proxy) Counts() Counts {
	t := p.mustTrack()
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Requests = maps.Clone(c.Requests)
	return c
}

func (p *Proxy) mustTrack() *tracking {
	if p.tracking == nil {
		panic("proxy: this proxy does not follow ZooKeeper's protocol")
	}
	return p.tracking
}

func (t *tracking) cut(op jute.Op, n int, v Verdict) <-chan Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &pendingCut{op: op, left: n, verdict: v, hit: make(chan Request, 1)}
	t.cuts = append(t.cuts, c)
	return c.hit
}

// judge counts a request and says what becomes of it, and who is to be told of
// the cut.
func (t *tracking) judge(r Request) (Verdict, chan<- Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Requests[r.Op]++
	for i, c := range t.cuts {
		if c.op != OpAny && c.op != r.Op {
			continue
		}
		if c.left--; c.left > 0 {
			continue
		}
		t.cuts = append(t.cuts[:i:i], t.cuts[i+1:]...)
		return c.verdict, c.hit
	}
	if t.intercept != nil {
		return t.intercept(r), nil
	}
	return Forward, nil
}

// greet takes in a client's handshake.
func (t *tracking) greet(session int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Handshakes++
	if session != 0 && t.onResume != nil {
		t.onResume(session)
	}
}

func (t *tracking) count(f func(*Counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.counts)
}

// tracker follows one connection. Its two directions are read by two
// goroutines.
type tracker struct {
	shared *tracking

	mu       sync.Mutex // guards what follows
	unframed bool
	greeted  bool // the client's handshake has passed
	answered bool // the server's handshake has passed
	session  int64
	dropping *cutError // instead of the reply to its request
}

func newTracker(t *tracking) *tracker { return &tracker{shared: t} }
