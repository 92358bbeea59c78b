package recipes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Contender is one participant of a queue, ours or a peer's.
type Contender struct {
	Path     string // of its znode
	Kind     Kind
	Naming   Naming
	Holds    bool          // nobody is in its way: it holds, or is about to learn that it does
	Position int           // how many stand before it; permits are all at 0
	Identity string        // what it shows of itself, with what cannot be printed replaced; not to be trusted
	Session  int64         // that owns it
	Token    fence.Token   // its fencing token, if and when it holds
	Created  time.Time     // by the servers' clock: when it came into the queue, or a permit was granted
	Age      time.Duration // since then, when it was read, by Client.ServerTime; 0 where that is not known
}

// Kind is what a contender contends for.
type Kind string

// Kinds of contenders.
const (
	KindMutex     Kind = "mutex"
	KindReader    Kind = "reader"
	KindWriter    Kind = "writer"
	KindPermit    Kind = "permit" // of a semaphore
	KindCandidate Kind = "candidate"
)

// Naming is whose way of naming znodes a contender follows, which tells who else
// counts it.
type Naming string

// Namings of contenders.
const (
	NamingCurator     Naming = "curator" // Apache Curator, and this library
	NamingKazoo       Naming = "kazoo"   // kazoo, and this library where it is told to
	NamingGoZooKeeper Naming = "go-zookeeper"
	NamingOther       Naming = "other"
)

// String says who it is and how long it has been there.
func (c Contender) String() string {
	if c.Path == "" {
		return "somebody who has gone since"
	}
	who := strconv.Quote(c.Identity)
	if c.Age == 0 {
		return who + ", which came at " + c.Created.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	unit := time.Second
	if c.Age < 10*time.Second {
		unit = time.Millisecond
	}
	return fmt.Sprintf("%s, which came %v ago", who, c.Age.Round(unit))
}

// WaitError is the end of a wait in a queue, for the reason that it wraps.
//
// Of a semaphore that has no room the first in its queue is told one of those who
// hold permits. Whoever stands behind is told of that first one, whose Holds is
// false: it waits, too, and who holds would be further requests, which
// lock.Semaphore's Queue makes.
type WaitError struct {
	Path     string    // of the lock or election
	Position int       // how many stood before, as last seen; 0 if it came to no wait
	Holder   Contender // the first of them, and its age when the wait ended; zero if it came to no wait, or to none that could be read
	Behind   string    // the znode waited for, "" if it came to no wait
	Err      error
}

func (e *WaitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "recipes: wait for %s", e.Path)
	switch {
	case e.Behind == "":
	case e.Holder.Path == "":
		fmt.Fprintf(&b, " at position %d, behind %q", e.Position, e.Behind)
	case e.Holder.Holds:
		fmt.Fprintf(&b, " at position %d, held by %v (%q)", e.Position, e.Holder, e.Holder.Path)
	default:
		fmt.Fprintf(&b, " at position %d, behind %v (%q)", e.Position, e.Holder, e.Holder.Path)
	}
	return b.String() + ": " + trimPackage(e.Err)
}

// Unwrap returns the reason.
func (e *WaitError) Unwrap() error { return e.Err }
