package zktest

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A Match says which requests a hook is for. Zero fields match everything.
type Match struct {
	// Op is the operation. OpCreateSession stands for the handshake, with
	// which a connection asks for a new session or for its old one.
	Op Op
	// Path is a pattern as of path.Match for the path that the client sent,
	// before any sequence number. A multi matches if one of its paths does.
	Path string
	// Session is the id of the session that asks; in a handshake, that which
	// is to be resumed.
	Session int64
	// Skip is the number of matching requests to let pass first.
	Skip int
	_    struct{}
}

// A Request is what a hook sees of a request.
type Request struct {
	Op      Op
	Path    string // the first, in a multi
	Session int64  // as in Match
	Addr    string // of the server that was asked
}

// A Hook waits for a request and does something to it. Server.On makes one;
// the method that says what to do makes it active.
//
// Active hooks are tried in the order in which they became so. A request is
// taken by the first that matches and is not used up; each is good for one
// request unless Times says otherwise. A hook that has taken fewer when the
// server closes fails the test, unless it is Optional.
type Hook struct {
	hooks   *hooks
	hit     chan struct{} // closed at the first hit
	release chan struct{} // closed by Release

	// Guarded by the lock of the Server; match and action do not change once
	// the hook is active.
	match    Match
	action   action
	active   bool
	times    int // -1 for any number
	optional bool
	skipped  int
	hits     int
	released bool
}

// An action is what a hook does; its zero value only looks.
type action struct {
	name       string
	delay      time.Duration
	call       func(Request)
	hold       bool
	drop       bool
	err        jute.Code
	dropReply  bool
	swallow    bool
	lateReply  time.Duration
	newSession bool
}

// On prepares a hook for the requests that match. Nothing happens until one of
// its methods says what it does.
func (s *Server) On(m Match) *Hook {
	pathMatches(m.Path, "/") // a malformed pattern fails here, not at a request
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &Hook{hooks: &s.hooks, match: m, times: 1, hit: make(chan struct{}), release: make(chan struct{})}
	s.hooks.requests = append(s.hooks.requests, h)
	return h
}

// Times makes the hook good for n requests. The default is one.
func (h *Hook) Times(n int) *Hook { return h.with(func() { h.times = n }) }

// Always makes the hook good for any number of requests, none included.
func (h *Hook) Always() *Hook { return h.with(func() { h.times, h.optional = -1, true }) }

// Optional lets the test pass though the hook was never hit.
func (h *Hook) Optional() *Hook { return h.with(func() { h.optional = true }) }

// Observe only counts.
func (h *Hook) Observe() *Hook { return h.activate(action{name: "observe"}) }

// Delay keeps the request for d before the server sees it, as a slow network
// would. What the same connection sends after it waits behind it. A request
// whose connection ends meanwhile is lost.
func (h *Hook) Delay(d time.Duration) *Hook { return h.activate(action{name: "delay", delay: d}) }

// Hold keeps the request until Release, like a Delay without end.
func (h *Hook) Hold() *Hook { return h.activate(action{name: "hold", hold: true}) }

// Call calls fn before the server sees the request. The request, and what the
// same connection sends after it, waits until fn returns. The server goes on
// meanwhile: fn may use it, and other clients too. Close waits for fn.
func (h *Hook) Call(fn func(Request)) *Hook { return h.activate(action{name: "call", call: fn}) }

// DropBeforeCommit loses the request and closes the connection, once what was
// answered before is sent: the client cannot know that nothing happened.
func (h *Hook) DropBeforeCommit() *Hook {
	return h.activate(action{name: "drop before commit", drop: true})
}

// DropReply lets the request happen and closes the connection in place of the
// reply: the client cannot know that it did.
func (h *Hook) DropReply() *Hook { return h.activate(action{name: "drop reply", dropReply: true}) }

// DelayReply lets the request happen and keeps the reply, and all that the
// server sends after it, for d: the bytes are late, not the facts that they
// tell.
func (h *Hook) DelayReply(d time.Duration) *Hook {
	return h.activate(action{name: "delay reply", lateReply: d})
}

// WithholdReply lets the request happen and never answers it, though the
// connection goes on.
func (h *Hook) WithholdReply() *Hook {
	return h.activate(action{name: "withhold reply", swallow: true})
}

// Error answers with an error; nothing happens. A handshake is answered with
// "session expired", whatever the code. An auth ends its connection too, as one
// that fails does.
func (h *Hook) Error(code Code) *Hook {
	return h.activate(action{name: "error: " + code.String(), err: code})
}

// NewSession answers a handshake that asks for an old session with a new one,
// and without a word that the old one is not there. The old one is left alone.
func (h *Hook) NewSession() *Hook {
	h.with(func() { h.match.Op = OpCreateSession })
	return h.activate(action{name: "new session", newSession: true})
}

func (h *Hook) activate(a action) *Hook {
	return h.with(func() {
		if h.active {
			panic("zktest: a hook does one thing only")
		}
		h.action, h.active = a, true
		h.hooks.requests = toTheEnd(h.hooks.requests, h)
	})
}

func (h *Hook) with(change func()) *Hook {
	h.hooks.srv.mu.Lock()
	defer h.hooks.srv.mu.Unlock()
	change()
	return h
}

// Hits returns how many requests the hook has taken.
func (h *Hook) Hits() int {
	h.hooks.srv.mu.Lock()
	defer h.hooks.srv.mu.Unlock()
	return h.hits
}

// Hit is closed when the hook has taken its first request.
func (h *Hook) Hit() <-chan struct{} { return h.hit }

// Release lets a request go that Hold keeps, or will keep.
func (h *Hook) Release() {
	h.hooks.srv.mu.Lock()
	defer h.hooks.srv.mu.Unlock()
	if !h.released {
		h.released = true
		close(h.release)
	}
}

func (m Match) String() string {
	s := "{"
	if m.Op != 0 {
		s += m.Op.String()
	} else {
		s += "any"
	}
	if m.Path != "" {
		s += " " + m.Path
	}
	if m.Session != 0 {
		s += fmt.Sprintf(" session %#x", m.Session)
	}
	if m.Skip != 0 {
		s += fmt.Sprintf(" after %d", m.Skip)
	}
	return s + "}"
}
