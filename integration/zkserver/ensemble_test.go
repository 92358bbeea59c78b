package zkserver_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// roles waits for an ensemble of three to have a leader and two followers.
func roles(t *testing.T, e *zkserver.Ensemble) (leader *zkserver.Server, followers []*zkserver.Server) {
	t.Helper()
	leader, err := e.Leader(within(t))
	require.NoError(t, err)
	eventually(t, "two followers", func() bool {
		followers = e.Followers(within(t))
		return len(followers) == 2
	})
	return leader, followers
}

func TestEnsembleElectsAnotherLeaderWhenOneIsKilled(t *testing.T) {
	eachProvider(t, func(t *testing.T, cfg zkserver.Config) {
		cfg.Servers = 3
		e := start(t, cfg)
		leader, followers := roles(t, e)
		create(t, dial(t, 10*time.Second, followers[0].Addr()), "/kept")

		require.NoError(t, leader.Kill())
		next, err := e.Leader(within(t))
		require.NoError(t, err)
		require.NotSame(t, leader, next)

		require.NoError(t, leader.Restart(within(t)))
		got, _ := roles(t, e)
		require.Same(t, next, got, "the one that came back follows")
		require.True(t, exists(t, leader, "/kept"))
	})
}

func TestWipedServerGetsTheDataFromTheOthers(t *testing.T) {
	e := start(t, zkserver.Config{Servers: 3})
	_, followers := roles(t, e)
	create(t, dial(t, 4*time.Second, followers[0].Addr()), "/kept")
	require.NoError(t, followers[1].Wipe())
	require.NoError(t, followers[1].Launch(within(t)))
	require.NoError(t, followers[1].AwaitServing(within(t)))
	conn := dial(t, 4*time.Second, followers[1].Addr())
	_, err := conn.Sync("/")
	require.NoError(t, err)
	found, _, err := conn.Exists("/kept")
	require.NoError(t, err)
	require.True(t, found)
}

// The fact on which the lease clock stands: reads prove nothing.
func TestFollowerCutOffFromItsPeersStillAnswersReadsWhenTheSessionIsGone(t *testing.T) {
	e := start(t, zkserver.Config{Servers: 3})
	leader, followers := roles(t, e)
	cutOff, other := followers[0], followers[1]
	const timeout = 1 * time.Second // of the session; the follower gives up after 10 ticks, 5 s
	holder := dial(t, timeout, cutOff.Addr())
	_, err := holder.Create("/lock", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	watcher := dial(t, 10*time.Second, other.Addr(), leader.Addr())
	_, err = watcher.Sync("/")
	require.NoError(t, err)
	found, _, gone, err := watcher.ExistsW("/lock")
	require.NoError(t, err)
	require.True(t, found)

	e.Isolate(cutOff)
	cut := time.Now()
	<-gone
	t.Logf("the leader removed the ephemeral %v after the cut", time.Since(cut).Round(time.Millisecond))
	_, stat, err := holder.Get("/lock")
	require.NoError(t, err, "the follower answers a read")
	require.Equal(t, holder.SessionID(), stat.EphemeralOwner)

	require.NoError(t, e.Heal())
	require.NoError(t, e.AwaitServing(within(t)))
	eventually(t, "the follower learns that the session is gone", func() bool {
		return !exists(t, cutOff, "/lock")
	})
}

// Each of the six directed links can be stopped by itself, and releasing it
// loses nothing: what was sent meanwhile still commits.
func TestEachDirectionOfALinkIsControlledAlone(t *testing.T) {
	// 20 s until a follower gives its leader up: no election interferes.
	e := start(t, zkserver.Config{Servers: 3, Settings: map[string]string{"syncLimit": "40"}})
	leader, followers := roles(t, e)
	follower, other := followers[0], followers[1]
	conn := dial(t, 20*time.Second, follower.Addr())
	witness := dial(t, 20*time.Second, leader.Addr())

	write := func(path string) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			done <- err
		}()
		return done
	}
	committed := func(path string) func() bool {
		return func() bool {
			exists, _, err := witness.Exists(path)
			return err == nil && exists
		}
	}

	// Leader → follower stalled: the write is committed, its client never hears.
	e.Link(leader, follower).Stall()
	done := write("/down")
	eventually(t, "committed without the follower", committed("/down"))
	require.Empty(t, done)
	e.Link(leader, follower).Pass()
	require.NoError(t, <-done)

	// Follower → leader stalled: the leader never sees the write.
	e.Link(follower, leader).Stall()
	done = write("/up")
	_, err := witness.Create("/meanwhile", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err, "the other follower makes the quorum")
	require.False(t, committed("/up")())
	require.Empty(t, done)
	e.Link(follower, leader).Pass()
	require.NoError(t, <-done)
	require.True(t, committed("/up")())

	// Both followers' acknowledgements stalled: no quorum, nothing commits.
	e.Link(follower, leader).Stall()
	e.Link(other, leader).Stall()
	stuck := make(chan error, 1)
	go func() {
		_, err := witness.Create("/stuck", nil, 0, zk.WorldACL(zk.PermAll))
		stuck <- err
	}()
	_, _, err = conn.Exists("/")
	require.NoError(t, err, "reads go on")
	require.Empty(t, stuck)
	e.Link(other, leader).Pass()
	require.NoError(t, <-stuck)
	e.Link(follower, leader).Pass()
}

// A server that dials back goes through the proxy too: with every link of the
// leader swallowed the others elect, and it stays alone.
func TestIsolatedLeaderIsDeposed(t *testing.T) {
	e := start(t, zkserver.Config{Servers: 3})
	leader, _ := roles(t, e)
	e.Isolate(leader)
	var next *zkserver.Server
	eventually(t, "another leader", func() bool {
		var err error
		next, err = e.Leader(within(t))
		return err == nil && next != leader
	})
	_, err := leader.Mode(within(t))
	require.Error(t, err, "the deposed one serves nobody")

	require.NoError(t, e.Heal())
	require.NoError(t, leader.AwaitServing(within(t)))
	got, _ := roles(t, e)
	require.Same(t, next, got)
}

func TestFollowerWhoseLinkIsCutAndRefusedIsOutUntilHealed(t *testing.T) {
	e := start(t, zkserver.Config{Servers: 3})
	leader, followers := roles(t, e)
	e.RefuseLinks(leader, followers[0])
	_, err := followers[0].Mode(within(t))
	require.NoError(t, err, "running connections go on")
	e.CutLinks(leader, followers[0])
	eventually(t, "out", func() bool {
		_, err := followers[0].Mode(within(t))
		return err != nil
	})
	mode, err := followers[1].Mode(within(t))
	require.NoError(t, err)
	require.Equal(t, zkserver.Follower, mode)
	require.NoError(t, e.Heal())
	require.NoError(t, followers[0].AwaitServing(within(t)))
}
