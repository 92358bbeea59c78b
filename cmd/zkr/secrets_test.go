//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// papers are a certificate that signs itself, and its key.
type papers struct {
	cert, key string // files
	pair      tls.Certificate
	pool      *x509.CertPool // what trusts it
}

func newPapers(t *testing.T, name string) papers {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	p := papers{pool: x509.NewCertPool()}
	p.cert = writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	p.key = writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	p.pair, err = tls.LoadX509KeyPair(p.cert, p.key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	p.pool.AddCert(parsed)
	return p
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// front takes connections and hands each to a function until the test ends.
// It returns the address.
func front(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var all []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// relay joins a connection to a server's.
func relay(c net.Conn, addr string) {
	s, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	pass := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src)
		s.Close()
		c.Close()
	}
	both.Go(func() { pass(s, c) })
	both.Go(func() { pass(c, s) })
	both.Wait()
}

// behindTLS is the address of a server that speaks TLS.
func behindTLS(t *testing.T, srv *zktest.Server, cfg *tls.Config) string {
	return front(t, func(c net.Conn) { relay(tls.Server(c, cfg), srv.Addrs()[0]) })
}

func TestTLSOfBothSides(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	server, client := newPapers(t, "zk.example"), newPapers(t, "client")
	addr := behindTLS(t, srv, &tls.Config{Certificates: []tls.Certificate{server.pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: client.pool})
	fence := func(more ...string) (int, string) {
		code, _, errs := runHere(t, append([]string{"fence", "show", "--connect", addr, "--connect-timeout", "2s", path}, more...)...)
		return code, errs
	}
	own := []string{"--tls-cert", client.cert, "--tls-key", client.key}
	code, errs := fence(append(own, "--tls-ca", server.cert, "--tls-server-name", "zk.example")...)
	require.Equal(t, 0, code, errs)
	code, errs = fence("--tls-ca", server.cert, "--tls-server-name", "zk.example")
	require.Equal(t, exitNoServer, code)
	require.Contains(t, errs, "certificate required")
	code, errs = fence(append(own, "--tls-ca", client.cert, "--tls-server-name", "zk.example")...)
	require.Equal(t, exitNoServer, code)
	require.Contains(t, errs, "unknown authority")
}

func TestCredentialsComeFromAFile(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/secret", nil, recipes.Persistent, recipes.DigestACL(recipes.PermAll, "ann", "hunter2"))
	require.NoError(t, err)
	show := func(more ...string) (int, string) {
		code, _, errs := fenceHere(t, srv, append([]string{"show", "/secret/lock"}, more...)...)
		return code, errs
	}
	code, errs := show("--auth-file", writeFile(t, "# ours\n\ndigest ann:hunter2\n"))
	require.Equal(t, 0, code, errs)
	code, errs = show()
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "permission denied")
}

func TestSecretsAreNotInErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	p := newPapers(t, "zk.example")
	for want, args := range map[string][]string{
		"line 1: want a scheme, a space and a cred": {"--auth-file", writeFile(t, "hunter2")},
		"line 2: want user:password behind digest":  {"--auth-file", writeFile(t, "#\ndigest hunter2")},
		"no credentials in it":                      {"--auth-file", writeFile(t, "# hunter2")},
		"more than 1048576 bytes":                   {"--auth-file", "/dev/zero"},
		"--auth-file " + missing + ": no such file": {"--auth-file", missing},
		"--tls-cert and --tls-key need each other":  {"--tls-cert", p.cert},
		"no certificate in it, want PEM":            {"--tls-ca", writeFile(t, "hunter2")},
		"private key":                               {"--tls-cert", p.cert, "--tls-key", newPapers(t, "x").key},
		"failed to find any PEM data in key input":  {"--tls-cert", p.cert, "--tls-key", writeFile(t, "hunter2")},
	} {
		code, out, errs := runHere(t, append([]string{"leader", "--connect", "127.0.0.1:1", path}, args...)...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, out)
		require.Contains(t, errs, want)
		require.NotContains(t, errs, "hunter2")
	}
}
