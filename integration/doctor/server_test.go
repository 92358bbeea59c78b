package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/papers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

func TestDoctorNamesAServerOfAnEnsembleThatIsDownOrOfAnotherVersionOrReadOnly(t *testing.T) {
	t.Parallel()
	e := zkserver.Start(t, zkserver.Config{Version: "3.8", Servers: 3, JVM: []string{"-Dreadonlymode.enabled=true"}})
	leader, err := e.Leader(within(t, patience))
	require.NoError(t, err)
	followers := e.Followers(within(t, patience))
	require.Len(t, followers, 2)
	all := leader.DirectAddr() + "," + followers[0].DirectAddr() + "," + followers[1].DirectAddr()

	doctor(t, all, "/locks/report").names(t)

	followers[0].Configure(func(c *zkserver.Config) { c.Version = "3.9" })
	require.NoError(t, followers[0].Restart(within(t, patience)))
	doctor(t, all).names(t, "ensemble  versions: they differ: 3.8.")

	require.NoError(t, followers[0].Kill())
	doctor(t, all).names(t, followers[0].DirectAddr()+"  reach: nobody listens there: is the server down, or the port another one?")

	require.NoError(t, leader.Kill())
	require.Eventually(t, func() bool {
		mode, _ := followers[1].Mode(t.Context())
		return mode == "read-only"
	}, patience, 50*time.Millisecond)
	doctor(t, followers[1].DirectAddr()).names(t,
		"mode: it is read-only: it has lost the others, begins no session, and no lock can be had from it")
}

func TestDoctorNamesAPortThatIsNotZooKeepers(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	doctor(t, strings.TrimPrefix(web.URL, "http://"), hurried...).
		names(t, "session: what listens there does not speak ZooKeeper: is the port another one?")
}

func TestDoctorNamesWhatKeepsTLSFromComingAbout(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, zkserver.Config{}).Servers[0]
	own, foreign := papers.NewAuthority(t, "own"), papers.NewAuthority(t, "foreign")
	later, ago := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	secure, err := s.ServeTLS(within(t, patience), own.Issue(t, "zk.example", later).Both(), own.PEM)
	require.NoError(t, err)
	ca := []string{"--tls-ca", papers.File(t, own.PEM)}
	with := func(p papers.Paper) []string {
		return append([]string{"--tls-cert", papers.File(t, p.Cert), "--tls-key", papers.File(t, p.Key)}, ca...)
	}
	good := with(own.Issue(t, "client", later))
	for name, test := range map[string]struct {
		addr  string
		flags []string
		want  []string
	}{
		"nothing":                    {secure, good, nil},
		"plain client":               {secure, hurried, []string{"session: it speaks TLS, and was spoken to without: use --tls"}},
		"plain port":                 {s.DirectAddr(), append(good[:len(good):len(good)], hurried...), []string{"session: it speaks no TLS there: leave --tls away, or take its secure port"}},
		"unknown authority":          {secure, []string{"--tls-ca", papers.File(t, foreign.PEM)}, []string{"session: its certificate is signed by none that is trusted here: see --tls-ca"}},
		"another name":               {secure, append(good[:len(good):len(good)], "--tls-server-name", "other.example"), []string{"see --tls-server-name"}},
		"no client certificate":      {secure, ca, []string{"session: it wants a client's certificate: see --tls-cert and --tls-key"}},
		"client's of another signer": {secure, with(foreign.Issue(t, "client", later)), []string{"session: it does not accept the certificate of --tls-cert: is its signer"}},
		"client's has expired":       {secure, with(own.Issue(t, "client", ago)), []string{"session: the certificate of --tls-cert expired at "}},
	} {
		t.Run(name, func(t *testing.T) {
			doctor(t, test.addr, test.flags...).names(t, test.want...)
		})
	}

	_, err = s.ServeTLS(within(t, patience), own.Issue(t, "zk.example", ago).Both(), own.PEM)
	require.NoError(t, err)
	doctor(t, secure, good...).names(t, "session: its certificate expired at ")
}

// The server's own clock is off, see zkserver's SetClock; the machine's is not.
func TestDoctorNamesAClockThatIsOff(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, zkserver.Config{}).Servers[0]
	require.NoError(t, s.SetClock(within(t, patience), -time.Hour))
	doctor(t, s.DirectAddr()).names(t, "ensemble  clock: the leader's is 59m5")
	require.NoError(t, s.SetClock(within(t, patience), time.Hour))
	doctor(t, s.DirectAddr()).names(t, "ahead of this machine's")
}

// What the whitelist says does not matter for srvr: servers add it by themselves.
func TestDoctorSaysWhatItCannotTellWithoutFourLetterWords(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, zkserver.Config{}).Servers[0]
	s.Configure(func(c *zkserver.Config) { c.Settings["4lw.commands.whitelist"] = "ruok" })
	require.NoError(t, s.Kill())
	require.NoError(t, s.Launch(within(t, patience)))
	dial(t, s.DirectAddr()) // when it serves
	r := doctor(t, s.DirectAddr())
	r.names(t)
	require.Contains(t, r.String(), "4lw: it does not answer conf, dump; with these in its 4lw.commands.whitelist")
}

func TestDoctorNamesASessionTimeoutThatIsNotGranted(t *testing.T) {
	t.Parallel()
	s := zkserver.Shared(t).Servers[0]
	doctor(t, s.DirectAddr(), "--session-timeout", "2m").
		names(t, "timeout: it grants 1m0s, not the 2m0s of --session-timeout: leases end so much sooner; raise maxSessionTimeout")
}
