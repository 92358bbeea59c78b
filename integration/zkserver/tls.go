package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

// ServeTLS restarts the server with a port for TLS beside its client port, and
// returns the address, which has no proxy before it. identity is the server's
// certificate and key, trust is whose clients it lets in, all in PEM; it lets in
// nobody without a certificate. It speaks TLS 1.2. A further call changes both.
func (s *Server) ServeTLS(ctx context.Context, identity, trust []byte) (addr string, err error) {
	if s.ens.external() {
		return "", ErrNoControl
	}
	if s.secure == nil {
		if s.secure, err = ports.Reserve(); err != nil {
			return "", err
		}
	}
	// In the server's own folder, which a container sees too.
	own, trusted := filepath.Join(s.dir, "identity.pem"), filepath.Join(s.dir, "trust.pem")
	if err := errors.Join(os.WriteFile(own, identity, 0o600), os.WriteFile(trusted, trust, 0o600)); err != nil {
		return "", fmt.Errorf("zkserver: %s: %w", s, err)
	}
	s.Configure(func(c *Config) {
		c.Settings["secureClientPort"] = fmt.Sprint(s.secure.Number)
		c.Settings["secureClientPortAddress"] = "127.0.0.1"
		c.Settings["serverCnxnFactory"] = "org.apache.zookeeper.server.NettyServerCnxnFactory"
		c.Settings["ssl.keyStore.location"] = own
		c.Settings["ssl.trustStore.location"] = trusted
		c.Settings["ssl.clientAuth"] = "need"
	})
	return s.secure.Addr(), s.Restart(ctx)
}
