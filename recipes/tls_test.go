package recipes_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// certificate makes a certificate for a name, and what trusts it.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// behindTLS dials a server that speaks TLS, whatever name it is asked for by.
func behindTLS(srv *zktest.Server, cert tls.Certificate) recipes.DialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		plain, err := srv.DialContext(ctx, network, srv.Addrs()[0])
		if err != nil {
			return nil, err
		}
		client, server := net.Pipe()
		secure := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
		var both sync.WaitGroup
		relay := func(dst, src net.Conn) {
			_, _ = io.Copy(dst, src)
			plain.Close()
			server.Close()
		}
		both.Go(func() { relay(plain, secure) })
		both.Go(func() { relay(secure, plain) })
		return client, nil
	}
}

// The name that the certificate is checked against is that of the connect
// string, and the order of the options does not matter.
func TestTLSChecksTheServersNameInWhateverOrderOptionsCome(t *testing.T) {
	const name = "zk.example"
	for order, options := range map[string]func(dial, secure recipes.Option) []recipes.Option{
		"TLS first": func(dial, secure recipes.Option) []recipes.Option { return []recipes.Option{secure, dial} },
		"TLS last":  func(dial, secure recipes.Option) []recipes.Option { return []recipes.Option{dial, secure} },
		"last counts": func(dial, secure recipes.Option) []recipes.Option {
			return []recipes.Option{recipes.WithTLS(new(tls.Config)), dial, secure}
		},
	} {
		t.Run(order, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				cert, pool := certificate(t, name)
				opts := options(recipes.WithDialer(behindTLS(srv, cert)), recipes.WithTLS(&tls.Config{RootCAs: pool}))
				opts = append(opts, recipes.WithClock(recipes.MonotonicClock()))
				ctx, cancel := context.WithTimeout(t.Context(), T)
				defer cancel()
				c, err := recipes.Dial(ctx, name+":2281", opts...)
				require.NoError(t, err)
				defer c.Close()
				_, _, err = zkrtest.Session(t, c).Exists(ctx, "/")
				require.NoError(t, err)
				_, err = recipes.Dial(ctx, "other.example:2281", opts...)
				require.ErrorIs(t, err, recipes.ErrNotConnected)
				require.ErrorContains(t, err, "zk.example, not other.example")
				time.Sleep(time.Minute) // what is left of it ends
			})
		})
	}
}
