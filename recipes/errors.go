package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Errors of sessions and leases. They come wrapped; ask with errors.Is.
var (
	// ErrLost is returned when a lease is over without having been released.
	ErrLost = errors.New("recipes: lease lost")
	// ErrReleased is the reason of a lease that its holder released.
	ErrReleased = errors.New("recipes: lease released")
	// ErrSessionExpired is returned for what is asked of a session that is over.
	ErrSessionExpired = errors.New("recipes: session expired")
	// ErrOutcomeUnknown is returned when a write may or may not have been
	// executed: its answer did not arrive. Read to find out, after
	// Session.Barrier.
	ErrOutcomeUnknown = errors.New("recipes: outcome unknown")
	// ErrClosed is returned when the client was closed.
	ErrClosed = errors.New("recipes: client closed")
	// ErrSessionFull is returned when the session would own more ephemeral znodes
	// than its ensemble could survive: see WithEphemeralBudget.
	ErrSessionFull = errors.New("recipes: session owns too many ephemeral znodes")
	// ErrNotConnected is returned, along with the context's error, when no
	// connection came about in time; along with that of crypto/tls, by Dial, when
	// none can.
	ErrNotConnected = errors.New("recipes: not connected")
	// ErrConnectionLost is returned for a read that got no answer.
	ErrConnectionLost = errors.New("recipes: connection lost")
)

// The server's answers. They come wrapped; ask with errors.Is.
var (
	// ErrNoNode is returned when the znode does not exist.
	ErrNoNode = errors.New("recipes: znode does not exist")
	// ErrNodeExists is returned when the znode to create exists.
	ErrNodeExists = errors.New("recipes: znode exists")
	// ErrBadVersion is returned when the znode has another version.
	ErrBadVersion = errors.New("recipes: version conflict")
	// ErrNotEmpty is returned when the znode to delete has children.
	ErrNotEmpty = errors.New("recipes: znode has children")
	// ErrNoChildrenForEphemerals is returned when the parent is ephemeral.
	ErrNoChildrenForEphemerals = errors.New("recipes: ephemeral znodes cannot have children")
	// ErrNoAuth is returned when the znode's ACL denies the operation.
	ErrNoAuth = errors.New("recipes: permission denied by the znode's ACL")
	// ErrAuthFailed is returned when the server refuses the credentials.
	ErrAuthFailed = errors.New("recipes: credentials refused")
	// ErrInvalidACL is returned when the server refuses an ACL.
	ErrInvalidACL = errors.New("recipes: invalid ACL")
	// ErrTooLarge is returned for a request that no server would take: it would
	// end the connection for everybody on it.
	ErrTooLarge = errors.New("recipes: request too large")
	// ErrNotRun is the error of an operation of a transaction that failed
	// because of another one.
	ErrNotRun = errors.New("recipes: not run, another operation of the transaction failed")
)

// OpError is an operation that failed.
type OpError struct {
	Op      string // what was tried, such as "create"
	Path    string
	Session int64 // 0 if it never came to a session
	Err     error
}

func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString("recipes: " + e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Session != 0 {
		fmt.Fprintf(&b, " (session %#x)", uint64(e.Session))
	}
	return b.String() + ": " + trimPackage(e.Err)
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// LostError says how a lease was lost. It is an [ErrLost].
type LostError struct {
	Path    string
	Token   fence.Token
	Session int64
	Cause   error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %s, token %s, session %#x: %s",
		ErrLost, e.Path, e.Token, uint64(e.Session), trimPackage(e.Cause))
}

// Unwrap returns ErrLost and the cause.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Cause} }

// trimPackage drops the package's name from an error that stands within
// another one of the same package.
func trimPackage(err error) string {
	return strings.ReplaceAll(err.Error(), "recipes: ", "")
}

// fromServer translates the client library's errors.
var fromServer = []struct{ from, to error }{
	{zk.ErrNoNode, ErrNoNode},
	{zk.ErrNodeExists, ErrNodeExists},
	{zk.ErrBadVersion, ErrBadVersion},
	{zk.ErrNotEmpty, ErrNotEmpty},
	{zk.ErrNoChildrenForEphemerals, ErrNoChildrenForEphemerals},
	{zk.ErrNoAuth, ErrNoAuth},
	{zk.ErrAuthFailed, ErrAuthFailed},
	{zk.ErrInvalidACL, ErrInvalidACL},
	{zk.ErrShortBuffer, ErrTooLarge},
}

var contextErrors = []error{context.Canceled, context.DeadlineExceeded}

// translate turns an error of zkconn into one of this package.
func translate(err error) error {
	if err == nil {
		return nil
	}
	var out []error
	add := func(cond bool, e error) {
		if cond {
			out = append(out, e)
		}
	}
	for _, t := range fromServer {
		add(errors.Is(err, t.from), t.to)
	}
	unknown := errors.Is(err, zkconn.ErrUnknown)
	over := errors.Is(err, zkconn.ErrOver)
	closed := errors.Is(err, zkconn.ErrClosed)
	add(unknown, ErrOutcomeUnknown)
	add(over && closed, ErrClosed)
	add(over, ErrSessionExpired)
	for _, c := range contextErrors {
		add(errors.Is(err, c), c)
	}
	add(len(out) == 0 && errors.Is(err, zkconn.ErrNotSent), ErrConnectionLost)
	if len(out) == 0 {
		return err
	}
	return inOneLine(out...)
}

// inOneLine is errors.Join without the newlines.
func inOneLine(errs ...error) error {
	var out error
	for _, err := range errs {
		switch {
		case err == nil:
		case out == nil:
			out = err
		default:
			out = fmt.Errorf("%w: %w", out, err)
		}
	}
	return out
}
