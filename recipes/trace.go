package recipes

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Trace is a set of functions that are called as things happen; nil ones cost
// nothing. They are called from any goroutine, more than one at a time, with no
// lock held, and must return soon: what they are told about waits for them. They
// must not close the client, since Close waits for them too. JoinTraces makes one
// Trace of several.
type Trace struct {
	// AcquireStart is called when a lock, a permit or a leadership is asked for,
	// before anything is sent. The context is that of the call.
	AcquireStart func(context.Context, AcquireEvent)
	// AcquireDone is called when that call is about to return, with a lease or
	// without.
	AcquireDone func(context.Context, AcquireEvent)
	// SessionState is called when a session begins, is suspended, goes on, or
	// ends.
	SessionState func(SessionEvent)
	// Renewed is called after each renewal of a session's lease clock, with
	// Err set if it got no confirmation.
	Renewed func(RenewalEvent)
	// Enqueued is called when a contender was made.
	Enqueued func(ContenderEvent)
	// Waiting is called when a contender knows its position, and again when
	// that changes.
	Waiting func(WaitEvent)
	// Granted is called when a lease is given.
	Granted func(LeaseEvent)
	// Lost is called when a lease ends without having been released: Err is a
	// *LostError. A lease that is lost in the moment of its grant may be told of
	// here before Granted is.
	Lost func(LeaseEvent)
	// Released is called when the first Release of a lease returns: its znodes are
	// gone, or Err says why they are not yet.
	Released func(LeaseEvent)
	// CleanedUp is called when an unwanted znode was deleted in the background,
	// or given up on with Err.
	CleanedUp func(CleanupEvent)
	// Overrun is called when a function that leads still runs some time after its
	// context has ended: see election.WithOverrunAfter.
	Overrun func(OverrunEvent)
	// Stranger is called once for each name in a queue's directory that is no
	// contender but makes a Curator peer wait for it.
	Stranger func(StrangerEvent)
	// TimerFired is called each time that the timer has gone off by which a
	// session's leases end, with how late that was: for so long the process was
	// paused, or got no processor. With this set it goes off at least every
	// thirty-second of the session timeout, so that no pause is told much shorter
	// than it was.
	TimerFired func(TimerEvent)
}

// AcquireEvent is about one call for a lease, by a recipe of this module.
type AcquireEvent struct {
	Call  uint64 // the same when it starts and when it is done, and of no other call of the process
	Path  string // of the lock or election
	Kind  Kind
	Took  time.Duration // since the start; 0 there
	Lease *Lease        // what it returns; nil at the start
	Err   error         // what it returns, a Try that finds somebody in its way included; also set where a panic ends it
}

// SessionEvent is a change of a session's state.
type SessionEvent struct {
	Client  *Client // whose session it is
	Session int64
	State   State
	Timeout time.Duration // the smallest granted so far
	Cause   error         // of a suspension or an end
}

// RenewalEvent is a renewal of a session's lease clock.
type RenewalEvent struct {
	Session   int64
	Took      time.Duration
	Remaining time.Duration // after it
	Err       error
}

// ContenderEvent is about one contender.
type ContenderEvent struct {
	Call    uint64 // for which it was made, as in AcquireEvent; 0 without AcquireStart and AcquireDone
	Lock    string // path of the lock or election; of one member of a multi-lock
	Kind    Kind
	Path    string // of the contender's znode
	Session int64
	Token   fence.Token // its czxid, 0 if it is not known yet; what a lease adds to that its LeaseEvent tells
}

// WaitEvent is about the place of one contender in its queue.
type WaitEvent struct {
	ContenderEvent
	Position int       // how many stand before it; 1 for the first in the queue of a semaphore that has no room
	Behind   string    // the znode that it waits for
	Holder   Contender // the first of them; zero where it had gone before it could be read
}

// LeaseEvent is about one lease.
type LeaseEvent struct {
	Lease   *Lease // to tell it from others, and to ask it
	Path    string // of the lock
	Token   fence.Token
	Session int64
	Held    time.Duration // from the grant to its end, or to now
	Err     error
}

// OverrunEvent is about a function that ignores the end of its context.
type OverrunEvent struct {
	Path    string // of the election
	Token   fence.Token
	Session int64
	For     time.Duration // since its context has ended
	Cause   error         // of that
}

// CleanupEvent is about a znode that nobody wants.
type CleanupEvent struct {
	Path    string
	Session int64
	Err     error
}

// StrangerEvent is about a name that does not belong where it is.
type StrangerEvent struct {
	Dir, Name string
}

// TimerEvent is about the timer of a session's leases.
type TimerEvent struct {
	Session int64
	Late    time.Duration
}
