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
	return certificateUntil(t, name, time.Now().Add(24*time.Hour))
}

func certificateUntil(t *testing.T, name string, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     until,
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, pool
}

// behindTLS dials a server that speaks TLS, whatever name it is asked for by.
func behindTLS(srv *zktest.Server, cert tls.Certificate) recipes.DialFunc {
	return behindTLSAs(srv, &tls.Config{Certificates: []tls.Certificate{cert}})
}

func behindTLSAs(srv *zktest.Server, cfg *tls.Config) recipes.DialFunc {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		plain, err := srv.DialContext(ctx, network, srv.Addrs()[0])
		if err != nil {
			return nil, err
		}
		client, server := net.Pipe()
		secure := tls.Server(server, cfg)
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

// The bound of these Dials is an hour, and they end in no time.
func TestDialEndsAtOnceWhereNoCertificateFitsAndSaysWhatToDo(t *testing.T) {
	const name = "zk.example"
	for fact, want := range map[string]string{
		"wrong authority":       "signed by none that is trusted here, see RootCAs",
		"wrong name":            "for another name, see ServerName",
		"server's expired":      "has to be renewed, unless this machine's clock is wrong",
		"no client certificate": "the server wants a client's certificate, see Certificates of the TLS configuration, or another version of TLS",
		"client's expired":      "the client's own certificate expired at ",
		"client's not trusted":  "does not accept the client's own certificate: does it trust the signer?",
		"no TLS at all":         "the server speaks no TLS at this port",
	} {
		t.Run(fact, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				cert, pool := certificate(t, name)
				stranger, strangers := certificate(t, "stranger")
				old, olds := certificateUntil(t, name, time.Now().Add(-time.Minute))
				// In TLS 1.3 a server refuses a client that writes already, which a pipe does not
				// take: cmd/zkr tries that on TCP.
				server := &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12}
				client := &tls.Config{RootCAs: pool, ServerName: name}
				dial := behindTLSAs(srv, server)
				switch fact {
				case "wrong authority":
					client.RootCAs = strangers
				case "wrong name":
					client.ServerName = "other.example"
				case "server's expired":
					server.Certificates, client.RootCAs = []tls.Certificate{old}, olds
				case "client's expired":
					server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, olds
					client.Certificates = []tls.Certificate{old}
				case "client's not trusted":
					server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, pool
					client.Certificates = []tls.Certificate{stranger}
					client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &stranger, nil }
				case "no client certificate":
					server.ClientAuth = tls.RequireAnyClientCert
				case "no TLS at all":
					dial = func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						go func() {
							defer server.Close()
							go func() { _, _ = io.Copy(io.Discard, server) }()
							_, _ = io.WriteString(server, "HTTP/1.1 400 Bad Request\r\n\r\n")
						}()
						return client, nil
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begin := time.Now()
				_, err := recipes.Dial(ctx, name+":2281", recipes.WithDialer(dial), recipes.WithTLS(client))
				require.ErrorIs(t, err, recipes.ErrNotConnected)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, want)
				require.Less(t, time.Since(begin), 5*time.Second)
				time.Sleep(time.Minute) // what is left of it ends
			})
		})
	}
}

func TestDialGoesOnWhileOneOfTheServersMayStillDo(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		cert, pool := certificate(t, "a.example")
		secure := behindTLS(srv, cert)
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "down.example:2281" {
				return nil, io.ErrUnexpectedEOF
			}
			return secure(ctx, network, addr)
		}
		ctx, cancel := context.WithTimeout(t.Context(), T)
		defer cancel()
		_, err := recipes.Dial(ctx, "other.example:2281,down.example:2281", recipes.WithDialer(dial), recipes.WithTLS(&tls.Config{RootCAs: pool}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, recipes.ErrNotConnected)
		c, err := recipes.Dial(t.Context(), "other.example:2281,a.example:2281", recipes.WithDialer(dial),
			recipes.WithTLS(&tls.Config{RootCAs: pool}), recipes.WithClock(recipes.MonotonicClock()))
		require.NoError(t, err)
		c.Close()
		time.Sleep(time.Minute) // what is left of it ends
	})
}
