// Package zkconn is one ZooKeeper session over one zk.Conn.
//
// go-zookeeper's Conn outlives its session: after an expiry it opens another
// one by itself and may run requests queued under the old session in the new
// one. A lock that was asked for under one session and made in another is the
// root of most lock bugs, so it cannot happen here: the dialer of a Conn refuses
// to connect once its session is over, whatever the server or the client
// library says about it. What succeeds on a Conn happened in its session.
//
// The connection that the dialer returns sees every frame. It feeds the lease
// clock, bounds the handshake, checks lengths before the client library trusts
// them, closes the socket on a read error (a blocked write would hold back the
// news otherwise), and never returns a write error (the client library can
// deadlock on one while it replays credentials).
package zkconn

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

// Errors of operations, beside the server's own answers. They are told apart
// with errors.Is.
var (
	// ErrNotSent is returned when the server certainly has not executed the
	// request.
	ErrNotSent = errors.New("zkconn: request not sent")
	// ErrUnknown is returned when the request may have been executed.
	ErrUnknown = errors.New("zkconn: outcome unknown")
	// ErrAbandoned is returned, with ErrUnknown and the context's error, for a
	// write that was given up while it was under way.
	ErrAbandoned = errors.New("zkconn: request abandoned")
	// ErrOver is returned when the session is over.
	ErrOver = errors.New("zkconn: session over")
	// ErrExpired is the reason of a session that the server ended.
	ErrExpired = errors.New("zkconn: session expired")
	// ErrClosed is the reason of a session that ended with its client.
	ErrClosed = errors.New("zkconn: closed")
	// ErrSpare is the reason of a session that was closed since nobody needs it.
	ErrSpare = errors.New("zkconn: session no longer needed")
)

// DialFunc opens a connection to a server of the ensemble.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Auth is a credential that is presented on every connection. It comes out of a
// function, so that fmt does not show it with whatever it is part of.
type Auth struct {
	Scheme string
	Cred   func() []byte
}

// Config says what to connect to and how.
type Config struct {
	Servers  []string      // host:port
	Timeout  time.Duration // asked for; the server answers with what it grants
	Tick     time.Duration // the servers' tickTime, 0 if unknown
	Dial     DialFunc
	Auth     []Auth
	MaxFrame int // largest reply accepted
	Now      func() leaseclock.Instant
	Logger   *slog.Logger

	// OnChange is called when the session connects, disconnects or ends, and
	// OnError with what keeps it from a server. They are called on the
	// connection's goroutines and must not block.
	OnChange func()
	OnError  func(error)
}
