package security_test

import (
	"context"
	"crypto/tls"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/papers"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// The server's name is not that of its address, and it wants to know its clients.
func TestLocksWorkOverTLSOfBothSidesAndWrongPapersAreToldAtOnce(t *testing.T) {
	s := zkserver.Start(t, zkserver.Config{}).Servers[0]
	own, foreign := papers.NewAuthority(t, "own"), papers.NewAuthority(t, "foreign")
	later, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	addr, err := s.ServeTLS(within(t, patience), own.Issue(t, "zk.example", later).Both(), own.PEM)
	require.NoError(t, err)
	client := own.Issue(t, "client", later)
	good := func() *tls.Config {
		return &tls.Config{RootCAs: own.Pool(), ServerName: "zk.example", Certificates: []tls.Certificate{client.Pair(t)}}
	}
	takeAndGiveBack(t, dial(t, addr, recipes.WithTLS(good())))
	t.Run("ACL of the certificate's subject", func(t *testing.T) {
		c := dial(t, addr, recipes.WithTLS(good()), recipes.WithACL(recipes.CreatorACL(recipes.PermAll)...),
			recipes.WithParentACL(recipes.CreatorACL(recipes.PermAll)...))
		mu, err := lock.NewMutex(c, zkserver.Path(t))
		require.NoError(t, err)
		l, err := mu.Lock(within(t, patience))
		require.NoError(t, err)
		acl, err := session(t, c).ACL(within(t, patience), l.Node())
		require.NoError(t, err)
		require.Equal(t, []recipes.ACL{{Perms: recipes.PermAll, Scheme: "x509", ID: "CN=client"}}, acl)
		_, _, err = session(t, dial(t, s.DirectAddr())).Children(within(t, patience), mu.Path())
		require.ErrorIs(t, err, recipes.ErrNoAuth)
	})
	t.Run("zkr", func(t *testing.T) {
		zkr := func(more ...string) (string, error) {
			cmd := exec.Command(worker.Build(t, "github.com/zkrecipes/zkrecipes/cmd/zkr"),
				append([]string{"ls", "--connect", addr, "--tls-server-name", "zk.example"}, more...)...)
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		ca := []string{"--tls-ca", papers.File(t, own.PEM)}
		out, err := zkr(append(ca, "--tls-cert", papers.File(t, client.Cert), "--tls-key", papers.File(t, client.Key))...)
		require.NoError(t, err, out)
		begin := time.Now()
		out, err = zkr(ca...)
		require.Error(t, err)
		require.Contains(t, out, "the server wants a client's certificate, see --tls-cert and --tls-key")
		out, err = zkr("--tls-ca", papers.File(t, foreign.PEM))
		require.Error(t, err)
		require.Contains(t, out, "signed by none that is trusted here, see --tls-ca")
		require.Less(t, time.Since(begin), 30*time.Second, "--connect-timeout of each")
	})
	refused := func(t *testing.T, change func(*tls.Config), want string) {
		cfg := good()
		change(cfg)
		_, err := recipes.Dial(within(t, 2*patience), addr, recipes.WithTLS(cfg))
		require.ErrorIs(t, err, recipes.ErrNotConnected)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, want)
	}
	for name, test := range map[string]struct {
		change func(*tls.Config)
		want   string
	}{
		"wrong authority":         {func(c *tls.Config) { c.RootCAs = foreign.Pool() }, "signed by none that is trusted here, see RootCAs"},
		"no client certificate":   {func(c *tls.Config) { c.Certificates = nil }, "the server wants a client's certificate, see Certificates"},
		"certificate has expired": {func(c *tls.Config) { c.Certificates[0] = own.Issue(t, "client", ago).Pair(t) }, "the client's own certificate expired at "},
		"only a newer TLS":        {func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, "the server takes no version of TLS that this side does, see MinVersion"},
		"of another authority":    {func(c *tls.Config) { c.Certificates[0] = foreign.Issue(t, "client", later).Pair(t) }, "the server "},
	} {
		t.Run(name, func(t *testing.T) { refused(t, test.change, test.want) })
	}
	t.Run("the server's has expired", func(t *testing.T) {
		_, err := s.ServeTLS(within(t, patience), own.Issue(t, "zk.example", ago).Both(), own.PEM)
		require.NoError(t, err)
		refused(t, func(*tls.Config) {}, "the server's certificate has to be renewed, unless this machine's clock is wrong")
	})
}

func takeAndGiveBack(t *testing.T, c *recipes.Client) {
	t.Helper()
	mu, err := lock.NewMutex(c, zkserver.Path(t))
	require.NoError(t, err)
	l, err := mu.Lock(within(t, patience))
	require.NoError(t, err)
	require.NoError(t, l.Verify(within(t, patience)))
	require.NoError(t, l.Release(within(t, patience)))
}
