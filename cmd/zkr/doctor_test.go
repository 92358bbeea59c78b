//go:build unix

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// saying is the address of a server that answers four-letter words as told; what
// is no such word goes to a real one, or nowhere.
func saying(t *testing.T, addr string, words map[string]string) string {
	return front(t, func(c net.Conn) {
		first := make([]byte, 4)
		if _, err := io.ReadFull(c, first); err != nil {
			return
		}
		if answer, ok := words[string(first)]; ok {
			_, _ = io.WriteString(c, answer)
			return
		}
		if addr != "" {
			relay(&again{c, io.MultiReader(bytes.NewReader(first), c)}, addr)
		}
	})
}

// again is a connection of which something was read.
type again struct {
	net.Conn
	r io.Reader
}

func (a *again) Read(p []byte) (int, error) { return a.r.Read(p) }

func srvr(version, mode string) string {
	return "Zookeeper version: " + version + "-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on 2022-02-25 08:49 UTC\nLatency min/avg/max: 0/0.5/2\nMode: " + mode + "\n"
}

// doctorHere runs zkr doctor, in a hurry.
func doctorHere(t *testing.T, servers string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runHere(t, append([]string{"doctor", "--connect", servers, "--connect-timeout", "1s", "--session-timeout", session.String()}, args...)...)
}

// faultsOf are the lines of what is to be repaired.
func faultsOf(out string) (faults []string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "fault") {
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	return faults
}

func TestDoctorFindsNoFaultWhereThereIsNone(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t, zktest.WithTick(session/8), zktest.WithFollowers(2))
	take(t, srv)
	tree := len(srv.Tree())
	code, out, errs := doctorHere(t, srv.ConnectString(), "--standing", "1", path, "/none/of/it")
	require.Equal(t, 0, code, out+errs)
	require.Equal(t, 1, strings.Count(out, "mode: leader"))
	require.Equal(t, 2, strings.Count(out, "mode: follower"))
	for _, said := range []string{"it grants 2s", "containers: can be made", "clock: the leader's is that of this machine",
		"queue: mutex, 1 hold, 0 wait", "tokens: the ensemble gives greater ones than the 1 of --standing", "may delete the contenders of others"} {
		require.Contains(t, out, said)
	}
	var left []string
	for _, z := range srv.Tree() {
		left = append(left, z.Path)
	}
	require.LessOrEqual(t, len(left), tree+2, "%q", left) // the directories that TokenNow makes above the second path
	for _, name := range left {
		require.NotContains(t, name, "zkr-doctor")
	}
	require.Eventually(t, func() bool { return len(srv.Sessions()) == 1 }, patience, session/100, "its own have ended")
}

func TestDoctorNamesTheFaultOfAServer(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	addr := srv.Addrs()[0]
	server := newPapers(t, "localhost")
	secure := behindTLS(t, srv, &tls.Config{Certificates: []tls.Certificate{server.pair}})
	strict := behindTLS(t, srv, &tls.Config{Certificates: []tls.Certificate{server.pair}, ClientAuth: tls.RequireAnyClientCert})
	limited := zktest.Start(t, zktest.WithTick(session/8), zktest.WithSessionTimeouts(0, session/2))
	generous := zktest.Start(t, zktest.WithTick(session/8), zktest.WithSessionTimeouts(2*session, 4*session))
	closed := front(t, func(net.Conn) {})
	http := front(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	heavySession := "Session Sets (1)/(1):\n\nSessions with Ephemerals (2):\n0x1002:\n\t/a\n0x1001:\n" + strings.Repeat("\t/locks/"+strings.Repeat("x", 100)+"\n", 6000) +
		"Connections dump\nConnections Sets (1)/(1):\n1 expire at Tue Dec 01 02:40:00 UTC 2026:\n\tip: /127.0.0.1:5 sessionId: 0x1002\n"
	for name, test := range map[string]struct {
		addr string
		args []string
		want string
	}{
		"server down":               {"127.0.0.1:1", nil, "fault  127.0.0.1:1  reach: nobody listens there: is the server down"},
		"name that is not known":    {"no.such.invalid:2181", nil, "reach: its name is not known"},
		"wrong port":                {http, nil, "session: what listens there does not speak ZooKeeper: is the port another one?"},
		"wrong port, closes":        {closed, nil, "what listens there does not speak ZooKeeper"},
		"TLS server, plain client":  {secure, nil, "session: it speaks TLS, and was spoken to without: use --tls"},
		"plain server, TLS client":  {addr, []string{"--tls"}, "session: it speaks no TLS there"},
		"certificate not trusted":   {secure, []string{"--tls-server-name", "localhost"}, "session: its certificate is signed by none that is trusted here: see --tls-ca"},
		"certificate of another":    {secure, []string{"--tls-ca", server.cert, "--tls-server-name", "zk.example"}, "see --tls-server-name"},
		"certificate wanted":        {strict, []string{"--tls-ca", server.cert, "--tls-server-name", "localhost"}, "it wants a client's certificate: see --tls-cert and --tls-key"},
		"session limit too low":     {limited.Addrs()[0], nil, "timeout: it grants 1s, not the 2s of --session-timeout"},
		"read-only server":          {saying(t, "", map[string]string{"srvr": srvr("3.8.0", "read-only")}), nil, "mode: it is read-only"},
		"no majority":               {saying(t, "", map[string]string{"srvr": "This ZooKeeper instance is not currently serving requests\n"}), nil, "it has found no majority of the others"},
		"tick above what was told":  {saying(t, addr, map[string]string{"conf": "tickTime=2000\nminSessionTimeout=4000\n"}), []string{"--tick", "1s"}, "tick: its tickTime is 2s, --tick says 1s: leases are unsafe"},
		"tick that has to be told":  {saying(t, addr, map[string]string{"conf": "tickTime=2000\nminSessionTimeout=3000\n"}), nil, "more than half of minSessionTimeout, 3s: give --tick 2s"},
		"session with too many":     {saying(t, addr, map[string]string{"dump": heavySession}), nil, "sessions: session 0x1001 owns 6000 ephemeral znodes, 626 KiB of paths"},
		"two that know no other":    {addr + "," + limited.Addrs()[0], nil, "mode: " + addr + ", " + limited.Addrs()[0] + " stand alone"},
		"two versions":              {saying(t, addr, map[string]string{"srvr": srvr("3.8.0", "follower")}) + "," + saying(t, addr, map[string]string{"srvr": srvr("3.9.2", "leader")}), nil, "versions: they differ: 3.8.0, 3.9.2"},
		"four-letter words refused": {saying(t, addr, map[string]string{"srvr": "srvr is not executed because it is not in the whitelist.\n"}), nil, ""},
		"timeout that is greater":   {generous.Addrs()[0], nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := doctorHere(t, test.addr, test.args...)
			faults := strings.Join(faultsOf(out), "\n")
			if test.want == "" {
				require.Equal(t, 0, code, out+errs)
				require.Contains(t, out, "note ")
				return
			}
			require.Equal(t, exitFault, code, out+errs)
			require.Contains(t, faults, test.want, out)
			require.Contains(t, errs, "zkr: faults found: ")
		})
	}
}

func TestDoctorNamesTheFaultOfAPath(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	c := dial(t, srv)
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	takeWith(t, c)
	_, err = s.Create(t.Context(), "/secret", nil, recipes.Persistent, recipes.DigestACL(recipes.PermAll, "ann", "right"))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "/readable", nil, recipes.Persistent,
		append(recipes.DigestACL(recipes.PermAll, "ann", "right"), recipes.WorldACL(recipes.PermRead)...))
	require.NoError(t, err)
	require.NoError(t, srv.Create("/strange", nil))
	require.NoError(t, srv.Create("/strange/\u202eaa", nil)) // sorts behind the numbers
	require.NoError(t, srv.Create("/strange/-readme", nil))
	standing(t, c, "/strange", "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "me")
	require.NoError(t, srv.Create("/stuck", nil))
	require.NoError(t, srv.Create("/stuck/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-0000000000", nil))
	require.NoError(t, srv.Create("/bad.fence", []byte("x")))
	wrong := writeFile(t, "digest ann:wrong\n")
	for name, test := range map[string]struct {
		path string
		args []string
		want []string
	}{
		"no permission":      {"/readable", nil, []string{"permission: it may not create in it: its ACL is digest:ann:cdrwa, world:anyone:r"}},
		"nor to read":        {"/secret", nil, []string{"permission: it may not read it, nor see its ACL: see --auth-file"}},
		"wrong password":     {"/readable", []string{"--auth-file", wrong}, []string{"its ACL has the user ann: with another password"}},
		"and unreadable":     {"/secret", []string{"--auth-file", wrong}, []string{"nor see its ACL: is the user another one, or the password wrong?"}},
		"strangers":          {"/strange", nil, []string{`\u202eaa does not belong there: nothing else`, "-readme does not belong there: Curator's clients wait for it for ever"}},
		"nobody's contender": {"/stuck", nil, []string{"lock-0000000000 belongs to no session: who stands behind it waits for ever"}},
		"no base":            {"/bad", nil, []string{"base: "}},
		"token out of reach": {path, []string{"--standing", "99999999999"}, []string{"tokens: 99999999999 is ahead of the ensemble"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := doctorHere(t, srv.ConnectString(), append(test.args, test.path)...)
			require.Equal(t, exitFault, code, out+errs)
			require.Len(t, faultsOf(out), len(test.want), out)
			for _, want := range test.want {
				require.Contains(t, out, want)
			}
			require.NotContains(t, out+errs, "wrong\n")
			requireHarmless(t, strings.ReplaceAll(out, "\n", ""))
		})
	}
}

func TestDoctorTellsClocksApart(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	for off, want := range map[time.Duration]string{time.Hour: "behind", -time.Hour: "ahead of"} {
		out, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer out.Close()
		d := &doctor{findings: findings{env: env{stdout: out}}, now: func() time.Time { return time.Now().Add(off) },
			conn: connection{servers: srv.ConnectString(), within: patience, timeout: session}}
		code, _ := exitCode(d.run(t.Context()))
		require.Equal(t, exitFault, code)
		require.Regexp(t, `fault  ensemble  clock: the leader's is (59m59|1h0m0)\S*s `+want+` this machine's`, content(t, out))
	}
}

func TestDoctorForMachines(t *testing.T) {
	t.Parallel()
	code, out, _ := doctorHere(t, "127.0.0.1:1", "--json")
	require.Equal(t, exitFault, code)
	var f findingJSON
	require.NoError(t, json.Unmarshal([]byte(out), &f))
	require.Equal(t, findingJSON{"fault", "127.0.0.1:1", "reach", f.Text}, f)
}

func TestConnectStringsAreTakenApart(t *testing.T) {
	for servers, want := range map[string]string{
		"a:1,b:2/x/y": "[a:1 b:2] /x/y",
		"a":           "[a:2181] ",
		"[::1]":       "[[::1]:2181] ",
		"[::1]:5, b":  "[[::1]:5 b:2181] ",
	} {
		addrs, chroot := splitServers(servers)
		require.Equal(t, want, fmt.Sprint(addrs, " ", chroot))
	}
}
