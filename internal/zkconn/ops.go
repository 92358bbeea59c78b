package zkconn

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Kind tells reads from writes: the outcome of a read that got no answer is of
// no interest, that of a write is unknown.
type Kind int

// Kinds of requests.
const (
	Read Kind = iota
	Write
)

// Do waits for a connection, makes one request, and returns near the end of ctx
// whatever the server does. call runs on a goroutine of its own and may go on
// after Do has returned; it must then not touch what the caller still uses.
func (c *Conn) Do(ctx context.Context, kind Kind, call func(*zk.Conn) error) error {
	_, err := Call(ctx, c, kind, nil, func(z *zk.Conn) (struct{}, error) {
		return struct{}{}, call(z)
	})
	return err
}

// Call is Do for requests with a result. If Call has to give up on a request
// under way, late (if any) is called with what becomes of it; every request
// gets an answer or an error in the end, at the latest with the session's.
func Call[T any](ctx context.Context, c *Conn, kind Kind, late func(T, error), call func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := c.g.await(ctx); err != nil {
		return none, notSent(err)
	}
	if !c.begin() {
		return none, notSent(errors.Join(ErrOver, c.Reason()))
	}
	type result struct {
		val T
		err error
	}
	answer := make(chan result) // not buffered: taken by the caller, or late
	abandoned := make(chan struct{})
	go func() {
		defer c.ops.Done()
		val, err := call(c.zk)
		r := result{val, c.classify(kind, err)}
		select {
		case answer <- r:
		case <-abandoned:
			if late != nil {
				late(r.val, r.err)
			}
		}
	}()
	select {
	case r := <-answer:
		return r.val, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-answer: // both at once: the answer wins
		return r.val, r.err
	default:
	}
	close(abandoned)
	if kind == Write {
		return none, errors.Join(ctx.Err(), ErrUnknown, ErrAbandoned)
	}
	return none, ctx.Err()
}

func (c *Conn) begin() bool {
	c.opsMu.Lock()
	defer c.opsMu.Unlock()
	if c.opsOver {
		return false
	}
	c.ops.Add(1)
	return true
}

func notSent(err error) error {
	return errors.Join(ErrNotSent, err)
}

// classify sorts the client library's errors: what the server answered passes
// as it is, the rest becomes ErrNotSent or, for a write, ErrUnknown.
func (c *Conn) classify(kind Kind, err error) error {
	switch {
	case err == nil || answered(err):
		return err
	case errors.Is(err, zk.ErrSessionExpired):
		// Only a server says so, and it has not executed the request.
		c.g.finish(ErrExpired)
		return errors.Join(ErrNotSent, ErrOver, ErrExpired)
	case errors.Is(err, zk.ErrSessionMoved):
		c.Drop(err)
		return notSent(err)
	case errors.Is(err, zk.ErrNoServer):
		return notSent(err)
	}
	if reason := c.Reason(); reason != nil {
		err = errors.Join(ErrOver, reason)
	}
	if kind == Write {
		return errors.Join(ErrUnknown, err)
	}
	return notSent(err)
}

// local and server-side refusals of a request.
var refusals = []error{
	zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals,
	zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrInvalidACL, zk.ErrInvalidFlags,
	zk.ErrAuthFailed, zk.ErrNothing, zk.ErrReconfigDisabled, zk.ErrBadArguments,
	zk.ErrAPIError, zk.ErrInvalidPath, zk.ErrShortBuffer,
}

// answered reports whether err is a definite answer, by the server or by the
// client library before it sent anything.
func answered(err error) bool {
	for _, known := range refusals {
		if errors.Is(err, known) {
			return true
		}
	}
	// Codes that the client library does not know: quota, throttled, and others.
	return strings.HasPrefix(err.Error(), "unknown error: ")
}
