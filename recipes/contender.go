package recipes

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Contender is one participant of a queue, ours or a peer's.
type Contender struct {
	Path     string      // of its znode
	Position int         // how many stand before it; 0 holds
	Identity string      // what it shows of itself, with what cannot be printed replaced; not to be trusted
	Session  int64       // that owns it
	Token    fence.Token // its fencing token, if and when it holds
	Created  time.Time   // by the server's clock
}

// WaitError is the end of a wait in a queue, for the reason that it wraps.
type WaitError struct {
	Path     string // of the lock or election
	Position int    // how many stood before, as last seen
	Behind   string // the znode waited for, "" if it came to no wait
	Identity string // what that shows of itself, as in Contender
	Err      error
}

func (e *WaitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "recipes: wait for %s", e.Path)
	if e.Behind != "" {
		fmt.Fprintf(&b, " at position %d, behind %q (%q)", e.Position, e.Identity, e.Behind)
	}
	return b.String() + ": " + trimPackage(e.Err)
}

// Unwrap returns the reason.
func (e *WaitError) Unwrap() error { return e.Err }
