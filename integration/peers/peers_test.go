package peers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// patience bounds against hanging what takes a moment.
const patience = time.Minute

// server is an in-process server to which the peers connect.
func server(t *testing.T) *zktest.Server {
	t.Helper()
	return zktest.Start(t, zktest.WithTick(500*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute))
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eachPeer runs a test with every implementation, on one process of each.
func eachPeer(t *testing.T, test func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer)) {
	for _, kind := range []struct {
		name  string
		start func(testing.TB, string) *peers.Peer
	}{
		{"Curator", peers.Curator},
		{"kazoo", func(t testing.TB, connect string) *peers.Peer { return peers.Kazoo(t, connect) }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			srv := server(t)
			test(t, within(t), srv, kind.start(t, srv.ConnectString()))
		})
	}
}

// crowded waits until a znode has so many children.
func crowded(t *testing.T, srv *zktest.Server, path string, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(srv.Children(path)) == n }, patience, time.Millisecond, "%d children of %s", n, path)
}

// follows states that one holds only after another began to let go.
func follows(t *testing.T, next, released peers.Answer) {
	t.Helper()
	require.Equal(t, "held", next.Event)
	require.Equal(t, "released", released.Event)
	require.Greater(t, next.From, released.From)
}

func TestPeersMutexIsHandedOver(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		a := p.Do(ctx, "lock a /locks/x")
		require.Equal(t, "held", a.Event)
		require.Equal(t, "busy", p.Do(ctx, "trylock b /locks/x 100").Event)
		p.Tell("lock c /locks/x")
		crowded(t, srv, "/locks/x", 2)
		released := p.Do(ctx, "release a")
		c := p.Await(ctx, "c")
		follows(t, c, released)
		require.Greater(t, c.Token, a.Token)
		p.Do(ctx, "release c")
		require.Empty(t, srv.Children("/locks/x"))
	})
}

func TestPeersMutexIsHeldByOneAtATime(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		const contenders, turns = 4, 10
		for i := range contenders {
			p.Tell(fmt.Sprintf("loop c%d %d 0 lock /locks/x", i, turns))
		}
		var held []peers.Answer
		for i := range contenders {
			for {
				a := p.Await(ctx, fmt.Sprintf("c%d", i))
				if a.Event == "done" {
					break
				}
				if a.Event == "turn" {
					held = append(held, a)
				}
			}
		}
		require.Len(t, held, contenders*turns)
		for i, a := range held {
			for _, b := range held[:i] {
				apart := a.To <= b.From || b.To <= a.From
				require.True(t, apart, "%+v and %+v", a, b)
				require.Equal(t, a.Token < b.Token, a.From < b.From, "tokens grow")
			}
		}
	})
}

func TestPeersReadersShareAndWritersExclude(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		p.Do(ctx, "rlock r1 /rw")
		require.Equal(t, "held", p.Do(ctx, "rlock r2 /rw").Event)
		require.Equal(t, "busy", p.Do(ctx, "trywlock w /rw 100").Event)
		p.Tell("wlock w /rw")
		crowded(t, srv, "/rw", 3)
		p.Do(ctx, "release r1")
		released := p.Do(ctx, "release r2")
		follows(t, p.Await(ctx, "w"), released)
		require.Equal(t, "busy", p.Do(ctx, "tryrlock r1 /rw 100").Event)
		p.Tell("rlock r1 /rw")
		crowded(t, srv, "/rw", 2)
		released = p.Do(ctx, "release w")
		follows(t, p.Await(ctx, "r1"), released)
		p.Do(ctx, "release r1")
	})
}

func TestPeersSemaphoreGivesOutItsPermits(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		for _, name := range []string{"a", "b"} {
			require.Equal(t, "held", p.Do(ctx, "acquire "+name+" /sem 2").Event)
		}
		require.Equal(t, "busy", p.Do(ctx, "tryacquire c /sem 2 200").Event)
		p.Tell("acquire c /sem 2")
		released := p.Do(ctx, "release a")
		follows(t, p.Await(ctx, "c"), released)
		p.Do(ctx, "release b")
		p.Do(ctx, "release c")
	})
}

func TestPeersElectionHasOneLeaderAfterAnother(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		a := p.Do(ctx, "lead a /election")
		require.Equal(t, "held", a.Event)
		p.Tell("lead b /election")
		crowded(t, srv, "/election", 2)
		released := p.Do(ctx, "release a")
		b := p.Await(ctx, "b")
		follows(t, b, released)
		require.Greater(t, b.Token, a.Token)
		p.Do(ctx, "release b")
	})
}

func TestPeersBarrierHoldsUntilItIsRemoved(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		require.Equal(t, "passed", p.Do(ctx, "wait a /barrier").Event, "there is none")
		require.Equal(t, "set", p.Do(ctx, "set a /barrier").Event)
		p.Tell("wait b /barrier")
		require.Eventually(t, func() bool { return srv.Watches("/barrier") > 0 }, patience, time.Millisecond)
		removed := p.Do(ctx, "remove a /barrier")
		passed := p.Await(ctx, "b")
		require.Equal(t, "passed", passed.Event)
		require.Greater(t, passed.From, removed.From)
	})
}

func TestPeersDoubleBarrierLetsAllInAndAllOut(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		p.Tell("enter a /phase 2")
		crowded(t, srv, "/phase", 1)
		b := p.Do(ctx, "enter b /phase 2")
		require.Equal(t, "held", b.Event)
		require.Equal(t, "held", p.Await(ctx, "a").Event)
		p.Tell("release a")
		p.Tell("release b")
		require.Equal(t, "released", p.Await(ctx, "a").Event)
		require.Equal(t, "released", p.Await(ctx, "b").Event)
		require.Empty(t, srv.Children("/phase"))
	})
}

func TestPeersSessionEndsWithIt(t *testing.T) {
	eachPeer(t, func(t *testing.T, ctx context.Context, srv *zktest.Server, p *peers.Peer) {
		p.Do(ctx, "lock a /locks/x")
		require.NoError(t, p.CloseInput())
		require.NoError(t, p.Wait(ctx))
		require.Empty(t, srv.Children("/locks/x"))
		require.Empty(t, srv.Sessions())
	})
}

func TestCommandLineOfZooKeeper(t *testing.T) {
	srv := server(t)
	cli := peers.CLI(t, srv.ConnectString())
	cli.Stdin = strings.NewReader(strings.Join([]string{
		"create /x data", "get -s /x", "create /x/y more", "ls /x", "stat /x", "delete /x", "delete /x/y", "delete /x", "get /x", "ls /", "quit", "",
	}, "\n"))
	var out bytes.Buffer
	cli.Stdout, cli.Stderr = &out, &out
	require.NoError(t, cli.Run(), "%s", &out)
	for _, want := range []string{
		"Created /x\n", "\ndata\n", "dataLength = 4\n", "Created /x/y\n", "[y]\n", "numChildren = 1\n", "cversion = 1\n",
		"Node not empty: /x\n", "Node does not exist: /x\n", "[zookeeper]\n",
	} {
		require.Contains(t, out.String(), want)
	}
	_, there := srv.Get("/x")
	require.False(t, there)
}
