package leaseclock

import "time"

// Link is the part of the chain that one connection contributes. Frames of
// another connection went to another server or another stream, so a link starts
// with nothing but its handshake.
//
// A link is used by the two goroutines that send and receive on its connection;
// its state is guarded by the chain's lock.
type Link struct {
	c         *Chain
	handshake Instant // when the handshake was sent
	revived   bool    // a write confirmed since the handshake has proven it

	answered []mark // answered frames, oldest first, thinned
	last     proof  // of the latest confirmed write
}

// mark says that a frame sent at sent had been answered at answered.
type mark struct{ sent, answered Instant }

// proof is what a confirmed write is worth as the first of two: the anchor that
// the next one establishes.
type proof struct {
	anchor Instant
	ok     bool
}

// Frame is a request on its way.
type Frame struct {
	sent   Instant
	write  bool
	own    proof // its worth as n-1
	before proof // of the write confirmed before it was sent: n-1, if this is n
}

// Sent returns when the frame was handed to the connection.
func (f Frame) Sent() Instant { return f.sent }

// Connect says that a handshake sent at sent was answered at now with the given
// timeout. fresh tells a new session from a resumed one.
func (c *Chain) Connect(sent, now Instant, timeout time.Duration, fresh bool) *Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timeout == 0 || timeout < c.timeout {
		c.timeout = timeout
	}
	l := &Link{c: c, handshake: sent, answered: []mark{{sent, now}}}
	if fresh {
		l.revived = true
		c.extend(sent, now)
	}
	return l
}

// Send says that a frame is about to be sent. write marks requests that the
// ensemble commits by quorum.
func (l *Link) Send(now Instant, write bool) Frame {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	f := Frame{sent: now, write: write}
	if write {
		f.own = l.reportedBy(now)
		f.before = l.last
	}
	return f
}

// reportedBy returns the latest frame that a write sent at now would prove to
// be reported, if it were followed by another.
func (l *Link) reportedBy(now Instant) proof {
	limit := now - l.gap()
	l.prune(limit)
	if l.answered[0].answered > limit {
		return proof{}
	}
	return proof{anchor: l.answered[0].sent, ok: true}
}

func (l *Link) gap() time.Duration { return NewRhythm(l.c.timeout, l.c.tick()).gap }

// prune forgets all frames answered by limit but the last of them: later writes
// have later limits.
func (l *Link) prune(limit Instant) {
	i := 0
	for i+1 < len(l.answered) && l.answered[i+1].answered <= limit {
		i++
	}
	l.answered = l.answered[i:]
}

// Answered says that the frame's answer has arrived at now. confirmed means
// that the answer shows a committed transaction of this session.
func (l *Link) Answered(f Frame, now Instant, confirmed bool) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.mark(f.sent, now)
	if !f.write || !confirmed {
		return
	}
	if !l.revived {
		l.revived = true
		l.c.extend(l.handshake, now)
	}
	if f.before.ok {
		l.c.extend(f.before.anchor, now)
	}
	if f.own.ok && (!l.last.ok || f.own.anchor > l.last.anchor) {
		l.last = f.own
	}
}

// mark remembers an answered frame. Frames answered close together are kept as
// one, under the later time of answer, so that a busy connection stays small.
func (l *Link) mark(sent, now Instant) {
	const grains = 256
	l.prune(now - l.gap())
	last := &l.answered[len(l.answered)-1]
	if len(l.answered) > 1 {
		prev := l.answered[len(l.answered)-2]
		if now-prev.answered < l.c.timeout/grains {
			last.answered = now
			last.sent = max(last.sent, sent)
			return
		}
	}
	l.answered = append(l.answered, mark{max(last.sent, sent), now})
	// What is older than the timeout proves nothing any more. Where nobody writes
	// nothing else would take it out.
	for len(l.answered) > 1 && l.answered[0].sent+l.c.timeout <= now {
		l.answered = l.answered[1:]
	}
}

// Eligible returns the earliest instant at which a pair of writes would extend
// the deadline by at least worth, judged by the frames answered so far; ok is
// false while there is no such frame.
func (l *Link) Eligible(worth time.Duration) (at Instant, ok bool) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if !l.revived {
		return l.handshake, true
	}
	gap := l.gap()
	for _, m := range l.answered {
		if l.c.anchor == never || m.sent >= l.c.anchor+worth {
			return m.answered + gap, true
		}
	}
	return 0, false
}

// Promising reports whether one more confirmed write, sent now, would extend
// the deadline.
func (l *Link) Promising() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return !l.revived || l.last.ok && l.last.anchor > l.c.anchor
}
