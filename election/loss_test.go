package election_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What becomes of leadership when sessions, znodes and servers fail.

// CURATOR-696, apache/druid#16411: the znode of the old session, still first in
// line, is taken for one's own.
func TestZnodeOfTheOldSessionDoesNotLead(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		term := ra.leads(t, 0)
		// The client gets a new session while the old one lives on at the server.
		srv.On(zktest.Match{Session: a.session()}).NewSession()
		srv.Cut(a.session())
		ended(t, term, T)
		rb := b.run()
		synctest.Wait()
		require.Contains(t, candidates(srv), term.Lease().Node()[len(path)+1:], "the old one is still there")
		require.False(t, a.IsLeader() || b.IsLeader())
		again := ra.leads(t, T+2*tick)
		require.Greater(t, again.Token(), term.Token())
		require.False(t, b.IsLeader())
		ra.stopped(t, 0)
		rb.leads(t, 0)
		rb.stopped(t, 0)
	})
}

// CURATOR-498: the creation that is found again belongs to a session that is
// going.
func TestCreationOfADyingSessionDoesNotLead(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		id := a.session()
		require.NoError(t, srv.Create("/election", nil))
		require.NoError(t, srv.Create(path, nil))
		lost := srv.On(zktest.Match{Path: path + "/_c_*"}).DropReply()
		srv.On(zktest.Match{Session: id, Op: zktest.OpCreateSession}).NewSession()
		r := a.run()
		<-lost.Hit()
		synctest.Wait()
		require.Len(t, candidates(srv), 2)
		require.False(t, a.IsLeader())
		term := r.leads(t, T+2*tick)
		require.NotEqual(t, id, term.Lease().Session().ID())
		z, ok := srv.Get(term.Lease().Node())
		require.True(t, ok)
		require.Equal(t, term.Lease().Session().ID(), z.Stat.EphemeralOwner)
		require.Len(t, candidates(srv), 1)
		r.stopped(t, 0)
	})
}

// CURATOR-171, spring-integration#9398, accumulo#1086: how operators force
// another leader.
func TestLeaderIsToldThatItsZnodeWasDeleted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		term := ra.leads(t, 0)
		rb := b.run()
		time.Sleep(T)
		require.NoError(t, srv.Delete(term.Lease().Node()))
		synctest.Wait()
		require.False(t, a.IsLeader())
		require.Len(t, ra.left, 1)
		require.ErrorIs(t, term.Err(), recipes.ErrLost)
		rb.leads(t, 0)
		require.ErrorIs(t, term.Resign(t.Context()), recipes.ErrLost)
		require.True(t, b.IsLeader(), "the late resignation touches no other term")
		require.Len(t, candidates(srv), 2)
	})
}

// CURATOR-724, apache/fluss PR#4382: the directory goes while nobody is there.
func TestLeaderMakesTheDirectoryAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		r := a.run()
		term := r.leads(t, 0)
		a.cable.Refuse(true)
		a.cable.Cut()
		srv.ExpireSession(a.session())
		require.NoError(t, srv.DeleteAll("/election"))
		a.cable.Refuse(false)
		again := r.leads(t, 2*time.Second)
		require.Greater(t, again.Token(), term.Token())
		r.stopped(t, 0)
	})
}

// CURATOR-537, CURATOR-637: "current path" is swapped between a check and a
// read.
func TestTokenIsThatOfATermThatWasHeld(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		granted := map[fence.Token]bool{}
		var mu sync.Mutex
		work := func(ctx context.Context, term *election.Term) error {
			mu.Lock()
			granted[term.Token()] = true
			mu.Unlock()
			<-ctx.Done()
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, c := range []*candidate{a, b} {
			wg.Go(func() { _ = c.Run(ctx, work) })
		}
		seen := map[fence.Token]bool{}
		wg.Go(func() {
			for ctx.Err() == nil {
				if term, ok := a.Term(); ok {
					seen[term.Token()] = true
				}
				time.Sleep(time.Millisecond)
			}
		})
		for range 20 {
			time.Sleep(time.Second)
			for _, c := range []*candidate{a, b} {
				if c.IsLeader() {
					srv.ExpireSession(c.session())
					break
				}
			}
		}
		cancel()
		wg.Wait()
		require.Greater(t, len(seen), 2)
		for token := range seen {
			require.True(t, granted[token], "%v was never held", token)
		}
	})
}

// CURATOR-653, -652, -444, -47: all candidates come back at once and decide on
// what they have read before.
func TestCandidatesThatComeBackTogetherElectOne(t *testing.T) {
	for name, outage := range map[string]func(*zktest.Server, []*candidate){
		"servers without a quorum": func(srv *zktest.Server, _ []*candidate) {
			srv.Freeze()
			time.Sleep(T / 2)
			srv.Thaw()
		},
		"servers down for long": func(srv *zktest.Server, _ []*candidate) {
			srv.Down()
			time.Sleep(2 * T)
			_ = srv.Up()
		},
		"all links cut for T": func(srv *zktest.Server, all []*candidate) {
			for _, c := range all {
				c.cable.Blackhole(zktest.BothWays)
			}
			time.Sleep(T)
			for _, c := range all {
				c.cable.Restore()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				var all []*candidate
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				leads := make(chan string, 100)
				for _, id := range []string{"a", "b", "c"} {
					all = append(all, join(t, srv, id))
				}
				for _, c := range all {
					wg.Go(func() {
						_ = c.Run(ctx, func(ctx context.Context, term *election.Term) error {
							for _, other := range all {
								if other != c && other.IsLeader() {
									t.Errorf("%s and %s lead", c.ID(), other.ID())
								}
							}
							leads <- c.ID()
							<-ctx.Done()
							return nil
						})
					})
				}
				<-leads
				time.Sleep(3 * T)
				srv.On(zktest.Match{Op: zktest.OpGetChildren2}).Always().Delay(300 * time.Millisecond)
				outage(srv, all)
				time.Sleep(T + 3*tick)
				leaders := 0
				for _, c := range all {
					if c.IsLeader() {
						leaders++
					}
				}
				require.Equal(t, 1, leaders)
				cancel()
				wg.Wait()
			})
		})
	}
}

// CURATOR-396, gbif/pipelines#1164, vertx-zookeeper#33
func TestLeaderThatDiesIsFollowedOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		ra.leads(t, 0)
		rb := b.run()
		time.Sleep(T)
		a.cable.Blackhole(zktest.BothWays) // as if the process were gone
		died := time.Now()
		time.Sleep(T / 2)
		again := join(t, srv, "a").run() // started anew
		rb.leads(t, T)
		require.LessOrEqual(t, time.Since(died), T+2*tick)
		zkrtest.Pending(t, again.done)
		require.Empty(t, again.began)
		rb.stopped(t, 0)
		again.leads(t, 0)
		require.Empty(t, rb.began)
		again.stopped(t, 0)
	})
}

// etcd#6278, kazoo#116: won, and the winner is not told.
func TestOnlyCandidateLeadsThoughAnswersAreLate(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		busy := recipes.WithTrace(recipes.Trace{SessionState: func(recipes.SessionEvent) { time.Sleep(300 * time.Millisecond) }})
		a := joinAs(t, srv, []recipes.Option{busy})
		srv.On(zktest.Match{Op: zktest.OpGetChildren2}).Optional().DelayReply(300 * time.Millisecond)
		term := elected(t, a.campaign(t.Context()), time.Second)
		require.True(t, a.IsLeader())
		resign(t, term)
	})
}

// As above, where the reply to the creation is lost.
func TestOnlyCandidateLeadsThoughTheReplyIsLost(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		resign(t, a.lead())
		srv.On(zktest.Match{Path: path + "/_c_*"}).DropReply()
		term := elected(t, a.campaign(t.Context()), 2*time.Second)
		require.Len(t, candidates(srv), 1)
		require.True(t, a.IsLeader())
		resign(t, term)
	})
}

// CURATOR-190, CURATOR-483: names that grow with each session.
func TestCandidatesHaveOneZnodeOverManySessions(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		all := []*candidate{join(t, srv, "a"), join(t, srv, "b")}
		for _, c := range all {
			c.run()
		}
		length := len("_c_00000000-0000-4000-8000-000000000000-latch-0000000000")
		seen := map[string]bool{}
		for range 5 {
			names := candidates(srv)
			require.Len(t, names, 2)
			for _, n := range names {
				require.Len(t, n, length)
				require.False(t, seen[n])
				seen[n] = true
			}
			require.NoError(t, srv.Restart())
			for _, c := range all {
				srv.ExpireSession(c.session())
			}
			time.Sleep(3 * time.Second)
		}
	})
}

// Netflix/curator#10, kazoo#54: withdrawn while the connection is down.
func TestCandidateThatWithdrawsWhileCutOffLeavesNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		term := a.lead()
		rb := b.run()
		synctest.Wait()
		b.cable.Refuse(true)
		b.cable.Cut()
		synctest.Wait()
		rb.stopped(t, 0)
		time.Sleep(T / 2)
		require.Len(t, candidates(srv), 2)
		b.cable.Refuse(false)
		time.Sleep(1100 * time.Millisecond)
		require.Len(t, candidates(srv), 1)
		resign(t, term)
	})
}

// A leader that stops while it is cut off returns in bounded time, and its place
// is given up when it can be.
func TestLeaderThatStopsWhileCutOffLeavesNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		ra := a.run()
		ra.leads(t, 0)
		time.Sleep(T)
		a.cable.Refuse(true)
		a.cable.Cut()
		start := time.Now()
		ra.stopped(t, T)
		require.LessOrEqual(t, time.Since(start), T)
		require.False(t, a.IsLeader())
		a.cable.Refuse(false)
		time.Sleep(T + 2*tick)
		require.Empty(t, candidates(srv))
	})
}

// A blink of the connection makes no other leader.
func TestLeadershipHoldsOverABlinkOfTheConnection(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ra := a.run()
		ra.leads(t, 0)
		rb := b.run()
		time.Sleep(T)
		for range 10 {
			a.cable.Refuse(true)
			a.cable.Cut()
			time.Sleep(T / 8)
			require.True(t, a.IsLeader())
			a.cable.Refuse(false)
			time.Sleep(T / 2)
		}
		require.Empty(t, ra.left)
		require.Empty(t, rb.began)
	})
}
