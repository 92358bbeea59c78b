package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// trio is an ensemble of three, in their roles.
type trio struct {
	*zkserver.Ensemble
	leader, follower *zkserver.Server
}

// startTrio starts one in which a follower that is cut off from its leader goes on
// answering for longer than a session lives.
func startTrio(t *testing.T) *trio {
	t.Helper()
	e := &trio{Ensemble: zkserver.Start(t, zkserver.Config{Servers: 3, Tick: tick, Settings: map[string]string{"syncLimit": "6"}})}
	e.roles(t)
	return e
}

// roles heals the ensemble and finds out who leads.
func (e *trio) roles(t *testing.T) {
	t.Helper()
	require.NoError(t, e.Heal())
	require.Eventually(t, func() bool {
		leader, err := e.Leader(within(t, patience))
		followers := e.Followers(within(t, patience))
		if err != nil || len(followers) != 2 {
			return false
		}
		e.leader, e.follower = leader, followers[0]
		return true
	}, patience, 20*time.Millisecond, "one leader and two followers")
}

// except returns the connect string of the servers but one.
func (e *trio) except(s *zkserver.Server) string {
	var addrs []string
	for _, o := range e.Servers {
		if o != s {
			addrs = append(addrs, o.Addr())
		}
	}
	return strings.Join(addrs, ",")
}

// start starts a server again after a kill.
func (e *trio) start(t *testing.T, s *zkserver.Server) {
	t.Helper()
	require.NoError(t, s.Launch(within(t, patience)))
	require.NoError(t, s.AwaitServing(within(t, patience)))
}

// kill kills the leading server and returns how long it took until another one
// led.
func (e *trio) kill(t *testing.T) time.Duration {
	t.Helper()
	at := peers.Now()
	require.NoError(t, e.leader.Kill())
	_, err := e.Leader(within(t, patience))
	require.NoError(t, err)
	return peers.Now() - at
}
