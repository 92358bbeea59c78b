package recipes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

func overTLS(plain DialFunc, cfg *tls.Config) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialTLS(ctx, plain, cfg, network, addr)
	}
}

func dialTLS(ctx context.Context, plain DialFunc, cfg *tls.Config, network, addr string) (net.Conn, error) {
	conn, err := plain(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	tc := tls.Client(conn, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, explainTLS(cfg, addr, err)
	}
	return &secureConn{Conn: tc, cfg: cfg, addr: addr}, nil
}

// secureConn is a connection on which the server may still refuse the client's
// certificate: in TLS 1.3 it says so after the client's handshake is over.
type secureConn struct {
	*tls.Conn
	cfg  *tls.Config
	addr string
}

func (c *secureConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, explainTLS(c.cfg, c.addr, err)
}

// tlsError is a failure of TLS that trying again does not change.
type tlsError struct {
	addr string
	hint string // what to do
	err  error  // that of crypto/tls
}

func (e *tlsError) Error() string { return e.err.Error() + ": " + e.hint }
func (e *tlsError) Unwrap() error { return e.err }

// explainTLS returns a tlsError where there is something to do about err, else
// err.
func explainTLS(cfg *tls.Config, addr string, err error) error {
	if hint := tlsHint(cfg, err); hint != "" {
		return &tlsError{addr, hint, err}
	}
	return err
}

func tlsHint(cfg *tls.Config, err error) string {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		plainText tls.RecordHeaderError
		op        *net.OpError
	)
	switch {
	case err == nil:
	case errors.As(err, &authority):
		return "the server's certificate is signed by none that is trusted here, see RootCAs of the TLS configuration"
	case errors.As(err, &hostname):
		return "the server's certificate is for another name, see ServerName of the TLS configuration"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has to be renewed, unless this machine's clock is wrong"
	case errors.As(err, &invalid):
		return "the server needs another certificate"
	case errors.As(err, &plainText):
		return "the server speaks no TLS at this port"
	case errors.As(err, &op) && op.Op == "remote error":
		return refusalHint(cfg, op.Err.Error())
	}
	return ""
}

// refusalHint explains an alert of the server's. Servers differ in which one they
// send of those that are about certificates, ZooKeeper's own in what they know of
// the reason.
func refusalHint(cfg *tls.Config, alert string) string {
	switch {
	case strings.Contains(alert, "handshake failure"):
		return "the server wants a client's certificate, see Certificates of the TLS configuration, or another version of TLS"
	case strings.Contains(alert, "protocol version"):
		return "the server takes no version of TLS that this side does, see MinVersion and MaxVersion of the TLS configuration"
	case !strings.Contains(alert, "certificate"):
		return "" // it may be about something that passes
	case len(cfg.Certificates) == 0 && cfg.GetClientCertificate == nil:
		return "the server wants a client's certificate, see Certificates of the TLS configuration"
	}
	for _, pair := range cfg.Certificates {
		if leaf := pair.Leaf; leaf != nil && time.Now().After(leaf.NotAfter) {
			return fmt.Sprintf("the client's own certificate expired at %s and has to be renewed", leaf.NotAfter.UTC().Format(time.RFC3339))
		}
	}
	return "the server does not accept the client's own certificate: does it trust the signer?"
}

// insecure are the servers with which no TLS came about. Once there was a session
// it no longer counts: certificates are renewed while clients run.
type insecure struct {
	servers map[string]error
	over    bool
}

// note reports whether err says something that was not known.
func (i *insecure) note(err error) bool {
	var e *tlsError
	if i.over || !errors.As(err, &e) || i.servers[e.addr] != nil {
		return false
	}
	if i.servers == nil {
		i.servers = make(map[string]error)
	}
	i.servers[e.addr] = err
	return true
}

// refusal returns nil as long as one of the servers may still do.
func (i *insecure) refusal(servers []string) error {
	if i.over {
		return nil
	}
	var err error
	for _, addr := range servers {
		if err = i.servers[addr]; err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", ErrNotConnected, err)
}
