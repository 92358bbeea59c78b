// Package history judges what the users of locks, elections and barriers did
// and believed, by records of it alone: whatever ran, and wherever.
//
// All instants are of one monotonic clock that all processes share. What is
// recorded is what could be observed from outside of the library: when a call
// began and returned, what a look at a lease said, what a resource applied.
//
// [Check] runs every rule; the rules are functions of their own, too.
package history

import (
	"fmt"
	"slices"
	"time"
)

// History is what was recorded. The order within a slice is of no importance,
// but in Effects.
type History struct {
	Holds   []Hold
	Waits   []Wait
	Effects []Effect
	Ops     []Operation
	Stays   []Stay
	Left    []Leftover
}

// Mode says what a hold excludes.
type Mode string

// Modes of a hold.
const (
	Exclusive Mode = "exclusive" // a mutex, a writer, a member of a multi, a leader
	Shared    Mode = "shared"    // a reader
	Permits   Mode = "permits"   // of a semaphore
)

// Hold is one grant and how long its holder believed in it.
type Hold struct {
	Path    string // of the lock
	Who     string // the holder, for people
	Mode    Mode
	N       int // permits held, 1 or more where Mode is Permits
	Limit   int // of the semaphore
	Token   int64
	Session int64

	Asked  time.Duration // the call began
	Queued time.Duration // its place in the queue was taken, 0 if that is not known
	From   time.Duration // the grant
	To     time.Duration // the last look that found it held; From if there was none
	Until  time.Duration // the latest instant that a look promised
	// End is when the holder began to give it up, was killed, or found it over at
	// a look; 0 if nothing of that was seen.
	End time.Duration

	// Requeued says that it had lost its place while it waited, with its session or its znode.
	Requeued bool
	// Deleted is when an operator began to delete its znode, which takes the lock
	// at once; 0 if none did.
	Deleted time.Duration
}

// Believed is the end of the holder's belief. A holder that was paused past its
// lease is not counted from there to its next look: nobody but the resource can
// tell it before.
func (h Hold) Believed() time.Duration {
	end := h.Until
	if h.End != 0 {
		end = min(end, h.End)
	}
	end = max(end, h.To)
	if h.Deleted != 0 {
		end = min(end, h.Deleted)
	}
	return max(end, h.From)
}

func (h Hold) String() string {
	return fmt.Sprintf("%s of %s (token %d, session %x) %v to %v", h.Mode, h.Who, h.Token, h.Session, h.From, h.Believed())
}

// Wait is one call that waits for a grant.
type Wait struct {
	Path, Who string
	Asked     time.Duration
	Served    time.Duration // 0 if it was not
	Gone      time.Duration // it gave up or was killed; 0 if not
}

// Effect is what a guarded resource has applied. The effects of one resource
// stand in a History in the order in which they were applied.
type Effect struct {
	Resource string
	Token    int64
	Value    string
}

// Kind is what is done at a guarded resource.
type Kind string

// Kinds of an operation.
const (
	Write   Kind = "write"
	Read    Kind = "read"
	Install Kind = "install" // of the token, without an effect
)

// Outcome is what was answered.
type Outcome string

// Outcomes of an operation.
const (
	Applied Outcome = "applied" // a read: was answered
	Refused Outcome = "refused" // as stale; nothing was changed
	Failed  Outcome = "failed"  // for another reason; nothing was changed
	Unknown Outcome = "unknown" // the answer was lost, or who asked was killed
)

// Operation is what somebody did at a guarded resource, as seen from outside of
// it. All values written to one resource are distinct.
type Operation struct {
	Resource string
	Who      string
	Kind     Kind
	Token    int64  // 0 for a read
	Value    string // that was written, or read
	Call     time.Duration
	Return   time.Duration // 0 if it never did
	Outcome  Outcome
}

// Stay is one participant's time at a double barrier.
type Stay struct {
	Path, Who string
	N         int           // so many go together
	Asked     time.Duration // Enter was called
	Entered   time.Duration // and returned without an error; 0 if it did not
	Leaving   time.Duration // Leave was called; 0 if it was not
	Left      time.Duration // and returned without an error; 0 if it did not
	// Died is when it was killed or gave up, and Gone the latest instant at which
	// it may still have counted after that; 0 if it did neither.
	Died, Gone time.Duration
}

// Leftover is what was found in a directory that should have been empty.
type Leftover struct {
	Path  string
	Names []string
}

// Violation is a broken promise.
type Violation struct {
	Rule string
	Path string
	Text string
}

func (v Violation) String() string { return v.Rule + ": " + v.Path + ": " + v.Text }

// Limits are the bounds of [Check].
type Limits struct {
	Quiet time.Duration // the instant from which on there was no fault
	End   time.Duration // of the record
	Serve time.Duration // a waiter without faults is served within this
}

// Check returns what is wrong with a history, by every rule.
func Check(h History, l Limits) []Violation {
	var all []Violation
	for _, found := range [][]Violation{
		Overlaps(h.Holds),
		Tokens(h.Holds),
		Stale(h.Effects),
		Outcomes(h.Ops, h.Effects),
		Ghosts(h.Left),
		Starved(h.Waits, l),
		OutOfOrder(h.Holds),
		OverLimit(h.Holds),
		ThroughAlone(h.Stays),
	} {
		all = append(all, found...)
	}
	return all
}

// byKey groups a slice, in the order in which keys first come.
func byKey[T any](all []T, key func(T) string) [][]T {
	at := make(map[string]int)
	var groups [][]T
	for _, v := range all {
		k := key(v)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], v)
	}
	return groups
}

// holdsByPath leaves out what an operator had taken before it was granted: its
// holder had not heard of it yet.
func holdsByPath(all []Hold) [][]Hold {
	all = slices.DeleteFunc(slices.Clone(all), func(h Hold) bool { return h.Deleted != 0 && h.Deleted <= h.From })
	return byKey(all, func(h Hold) string { return h.Path })
}
