package zktest

import (
	"context"
	"net"
	"time"
)

// Dial connects to one of the servers, in memory or over TCP. Its type is that
// of go-zookeeper's Dialer.
func (s *Server) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := dialContext(timeout)
	defer cancel()
	return s.DialContext(ctx, network, addr)
}

func dialContext(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), timeout)
}

// DialContext connects to one of the servers, in memory or over TCP.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.dark(addr) {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	if s.net != nil {
		return s.net.dial(ctx, addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// dark tells whether packets to an address get lost.
func (s *Server) dark(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.addr == addr {
			return m.dark
		}
	}
	return false
}
