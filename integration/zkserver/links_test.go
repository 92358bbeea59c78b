package zkserver

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that is dialled by one of lower id dials back to the address that
// the other announced. That way, too, must lead through a proxy, or a cut-off
// server still takes part in elections.
func TestNoConnectionBetweenServersGoesPastTheProxies(t *testing.T) {
	e := Start(t, Config{Servers: 3})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// A killed leader makes all of them connect anew, in every order.
	leader, err := e.Leader(ctx)
	require.NoError(t, err)
	require.NoError(t, leader.Restart(ctx))

	quorum := func(c channel) int { return c.quorum.Conns() }
	election := func(c channel) int { return c.election.Conns() }
	// Connections that a server has refused take a moment to end.
	require.Eventually(t, func() bool {
		elections := 0
		for _, s := range e.Servers {
			elections += e.proxied(s, election)
			if established(t, s.quorum.Number) != e.proxied(s, quorum) ||
				established(t, s.election.Number) != e.proxied(s, election) {
				return false
			}
		}
		return elections >= 2 // what a server needs to find the leader
	}, 30*time.Second, 20*time.Millisecond)
}

// proxied sums up what the other servers' ways to s have.
func (e *Ensemble) proxied(s *Server, conns func(channel) int) (n int) {
	for _, from := range e.Servers {
		if from != s {
			n += conns(e.channel(from, s))
		}
	}
	return n
}

// established counts the connections that a server has accepted on port.
func established(t *testing.T, port int) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("only Linux lists connections in /proc/net/tcp")
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line) // sl, local address, remote address, state
		if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == "01" {
			n++
		}
	}
	return n
}

func TestHelloOfAnElectionAnnouncesTheProxy(t *testing.T) {
	hello := "\xff\xff\xff\xff\xff\xff\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x02" + "\x00\x00\x00\x0e" + "127.0.0.1:3888"
	for i := range hello {
		require.Nil(t, announce([]byte(hello[:i]), "127.0.0.1:12345"), "incomplete")
	}
	require.Equal(t,
		hello[:16]+"\x00\x00\x00\x0f"+"127.0.0.1:12345"+"rest",
		string(announce([]byte(hello+"rest"), "127.0.0.1:12345")))
}
