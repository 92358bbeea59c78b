package barrier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// participant is a client with a cable of its own and the double barrier at path.
type participant struct {
	*barrier.Double
	t     testing.TB
	c     *recipes.Client
	cable *zktest.Cable
}

func take(t testing.TB, srv *zktest.Server, n int) *participant {
	t.Helper()
	cable := srv.Cable()
	c := zkrtest.DialBy(t, cable, srv.ConnectString())
	d, err := barrier.NewDouble(c, path, n)
	require.NoError(t, err)
	return &participant{d, t, c, cable}
}

// several are m participants of a barrier for n.
func several(t testing.TB, srv *zktest.Server, m, n int) []*participant {
	t.Helper()
	ps := make([]*participant, m)
	for i := range ps {
		ps[i] = take(t, srv, n)
	}
	return ps
}

func (p *participant) session() int64 { return zkrtest.Session(p.t, p.c).ID() }

func (p *participant) enter() waiting {
	return start(func() error { return p.Enter(p.t.Context()) })
}

func (p *participant) leave() waiting {
	return start(func() error { return p.Leave(p.t.Context()) })
}

// enterAll lets as many enter as it takes.
func enterAll(t testing.TB, ps ...*participant) {
	t.Helper()
	var calls []waiting
	for _, p := range ps {
		calls = append(calls, p.enter())
	}
	for _, c := range calls {
		require.NoError(t, returned(t, c, 0))
	}
}

func leaveAll(t testing.TB, ps ...*participant) {
	t.Helper()
	var calls []waiting
	for _, p := range ps {
		calls = append(calls, p.leave())
	}
	for _, c := range calls {
		require.NoError(t, returned(t, c, 0))
	}
}

// children are the names in the barrier, when nothing moves any more.
func children(srv *zktest.Server) []string {
	synctest.Wait()
	return srv.Children(path)
}

func TestDoubleLetsAllInTogetherAndOutTogether(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 3)
		for range 3 {
			a, b := ps[0].enter(), ps[1].enter()
			zkrtest.Pending(t, a, b)
			time.Sleep(3 * T)
			zkrtest.Pending(t, a, b)
			c := ps[2].enter()
			for _, w := range []waiting{a, b, c} {
				require.NoError(t, returned(t, w, 0))
			}
			require.Contains(t, children(srv), "ready")

			a, b = ps[0].leave(), ps[1].leave()
			zkrtest.Pending(t, a, b)
			time.Sleep(3 * T)
			zkrtest.Pending(t, a, b)
			c = ps[2].leave()
			for _, w := range []waiting{a, b, c} {
				require.NoError(t, returned(t, w, 0))
			}
			require.Empty(t, children(srv))
		}
	})
}

func TestDoubleForOne(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := take(t, srv, 1)
		for range 3 {
			require.NoError(t, a.Enter(t.Context()))
			require.NoError(t, a.Leave(t.Context()))
			require.Empty(t, children(srv))
		}
	})
}

// Nobody waits for all children: a watch fires for all waiters when it is
// decided.
func TestDoubleWakesItsWaitersOnce(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const n = 20
		ps := several(t, srv, n, n)
		first := ps[0].enter()
		synctest.Wait()
		id := ps[0].session()
		srv.ResetRequests()
		var others []waiting
		for _, p := range ps[1 : n-1] {
			others = append(others, p.enter())
		}
		zkrtest.Pending(t, others...)
		require.Zero(t, srv.Requests(zktest.OpExists, id)+srv.Requests(zktest.OpGetChildren2, id))
		time.Sleep(3*T + T/2)
		require.Zero(t, srv.Requests(zktest.OpGetChildren2, id), "who looks again for a lost event reads no list")
		srv.ResetRequests()
		require.NoError(t, ps[n-1].Enter(t.Context()))
		require.NoError(t, returned(t, first, 0))
		for _, w := range others {
			require.NoError(t, returned(t, w, 0))
		}
		require.LessOrEqual(t, srv.Requests(zktest.OpExists, id)+srv.Requests(zktest.OpGetChildren2, id), 1)
	})
}

// CURATOR-318, CURATOR-80: a participant whose time ran out is still counted.
func TestParticipantWhoseTimeRanOutIsNotCounted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 3)
		var calls []waiting
		for _, p := range ps[:2] {
			calls = append(calls, start(func() error { return p.Enter(soon(t, time.Second)) }))
		}
		time.Sleep(2 * time.Second)
		for _, c := range calls {
			require.ErrorIs(t, returned(t, c, 0), context.DeadlineExceeded)
		}
		began := time.Now()
		require.ErrorIs(t, ps[2].Enter(soon(t, time.Second)), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		require.Empty(t, children(srv))
		require.ErrorIs(t, ps[2].Leave(t.Context()), barrier.ErrNotInside)
		enterAll(t, ps...)
		leaveAll(t, ps...)
		require.Empty(t, children(srv))
	})
}

// As above, between the count and the decision.
func TestParticipantThatGivesUpWhileItIsCountedIsNotCounted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 2)
		ctx, cancel := context.WithCancel(t.Context())
		a := start(func() error { return ps[0].Enter(ctx) })
		zkrtest.Pending(t, a)
		hook := srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: ps[1].session()}).DelayReply(time.Second)
		b := ps[1].enter()
		<-hook.Hit()
		cancel()
		require.ErrorIs(t, returned(t, a, 0), context.Canceled)
		time.Sleep(2 * time.Second)
		zkrtest.Pending(t, b)
		require.NoError(t, ps[2].Enter(t.Context()))
		require.NoError(t, returned(t, b, 0))
		leaveAll(t, ps[1:]...)
		require.Empty(t, children(srv))
	})
}

// curator GH-1290: events of the connection let a participant in.
func TestNoEventOfTheConnectionLetsAnybodyIn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := take(t, srv, 2), take(t, srv, 2)
		w := start(func() error { return a.Enter(soon(t, 10*time.Second)) })
		for range 2 {
			time.Sleep(2 * time.Second)
			srv.Cut(a.session())
		}
		require.ErrorIs(t, returned(t, w, 10*time.Second), context.DeadlineExceeded)
		require.Empty(t, children(srv))

		// Nor does the end of the session: it comes again in the next one.
		w = a.enter()
		for range 3 {
			time.Sleep(2 * time.Second)
			srv.ExpireSession(a.session())
		}
		time.Sleep(2 * time.Second)
		zkrtest.Pending(t, w)
		require.Len(t, children(srv), 1)
		require.NoError(t, b.Enter(t.Context()))
		require.NoError(t, returned(t, w, 0))
		leaveAll(t, a, b)
	})
}

// CURATOR-536: more than n enter, and one of them stays.
func TestLeaveEndsWithItsContextWhereOneMoreStays(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 2)
		enterAll(t, ps...)
		var calls []waiting
		for _, p := range ps[:2] {
			calls = append(calls, start(func() error { return p.Leave(soon(t, time.Second)) }))
		}
		began := time.Now()
		for _, c := range calls {
			require.ErrorIs(t, returned(t, c, time.Second), context.DeadlineExceeded)
		}
		require.Equal(t, time.Second, time.Since(began))
		require.Len(t, children(srv), 2, "the one that stays, and ready")
		require.NoError(t, ps[2].Leave(t.Context()))
		require.Empty(t, children(srv))
	})
}

// More than n: who comes when a round is under way joins it.
func TestParticipantThatComesLateJoinsTheRound(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 4, 2)
		enterAll(t, ps[:2]...)
		require.NoError(t, ps[2].Enter(t.Context()))
		require.NoError(t, ps[3].Enter(t.Context()))
		calls := []waiting{ps[0].leave(), ps[1].leave(), ps[3].leave()}
		zkrtest.Pending(t, calls...)
		require.NoError(t, ps[2].Leave(t.Context()))
		for _, c := range calls {
			require.NoError(t, returned(t, c, 0))
		}
		require.Empty(t, children(srv))
	})
}

// As above, also when most have left.
func TestParticipantThatComesWhenMostHaveLeftJoinsTheRound(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 3)
		enterAll(t, ps...)
		lowest, _ := srv.Get(path + "/" + slices.Min(children(srv)))
		var stays *participant
		var calls []waiting
		for _, p := range ps {
			if p.session() == lowest.Stat.EphemeralOwner {
				stays = p
			} else {
				calls = append(calls, p.leave())
			}
		}
		zkrtest.Pending(t, calls...)
		late := take(t, srv, 3)
		require.NoError(t, late.Enter(soon(t, T)))
		last := stays.leave()
		zkrtest.Pending(t, last)
		calls = append(calls, last)
		require.NoError(t, late.Leave(t.Context()))
		for _, w := range calls {
			require.NoError(t, returned(t, w, 0))
		}
		require.Empty(t, children(srv))
	})
}

// As above, also when all have left who began the round.
func TestParticipantThatComesLateIsOfTheRoundForOthers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 5, 3)
		enterAll(t, ps[:3]...)
		require.NoError(t, ps[3].Enter(t.Context()))
		for _, p := range ps[:3] {
			p.c.Close()
		}
		require.NoError(t, ps[4].Enter(soon(t, T)))
		leaving := ps[3].leave()
		zkrtest.Pending(t, leaving)
		require.NoError(t, ps[4].Leave(t.Context()))
		require.NoError(t, returned(t, leaving, 0))
		require.Empty(t, children(srv))
	})
}

// Who was there when the others set out, and has not got in by the time they have
// gone, is of the next round.
func TestParticipantThatDoesNotGetInIsNotWaitedFor(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		for first := false; !first; { // by its name: otherwise one of them is still there to let it in
			ps, late := several(t, srv, 2, 2), take(t, srv, 2)
			enterAll(t, ps...)
			look := srv.On(zktest.Match{Op: zktest.OpExists, Session: late.session(), Path: path + "/ready"}).Hold()
			entering := late.enter()
			<-look.Hit()
			lowest, _ := srv.Get(path + "/" + slices.Min(children(srv)))
			first = lowest.Stat.EphemeralOwner == late.session()
			calls := []waiting{ps[0].leave(), ps[1].leave()}
			synctest.Wait()
			look.Release()
			if first {
				for _, w := range calls {
					require.NoError(t, returned(t, w, T))
				}
				zkrtest.Pending(t, entering)
				enterAll(t, ps[0])
				require.NoError(t, returned(t, entering, 0))
				leaveAll(t, ps[0], late)
			} else {
				require.NoError(t, returned(t, entering, 0))
				require.NoError(t, late.Leave(t.Context()))
				for _, w := range calls {
					require.NoError(t, returned(t, w, 0))
				}
			}
			require.Empty(t, children(srv))
		}
	})
}

// Who joins while the last one goes keeps its round.
func TestParticipantThatJoinsWhileTheLastOneGoesKeepsItsRound(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 4, 2)
		a, b := inOrder(t, srv, ps[:2])
		b.c.Close()
		goes := srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session()}).Hold()
		leaving := a.leave()
		<-goes.Hit()
		require.NoError(t, ps[2].Enter(t.Context()))
		goes.Release()
		require.NoError(t, returned(t, leaving, T))
		require.Contains(t, children(srv), "ready")
		require.NoError(t, ps[3].Enter(soon(t, T)))
		leaveAll(t, ps[2:]...)
		require.Empty(t, children(srv))
	})
}

// Who is late to see a ready that is left alone does nothing to the one of a new
// round.
func TestReadyThatWasLeftAloneIsNotTakenForTheNextOne(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := inOrder(t, srv, several(t, srv, 2, 2))
		leaving := b.leave()
		zkrtest.Pending(t, leaving)
		look := srv.On(zktest.Match{Op: zktest.OpExists, Session: b.session()}).Hold()
		a.c.Close() // it would have gone last, and taken ready with it
		<-look.Hit()
		ps := several(t, srv, 2, 2)
		enterAll(t, ps...)
		look.Release()
		require.NoError(t, returned(t, leaving, 0))
		require.Contains(t, children(srv), "ready")
		leaveAll(t, ps...)
		require.Empty(t, children(srv))
	})
}

// Who is late to learn that the others have left does nothing to the next round.
func TestParticipantThatLeavesLateLeavesTheNextRoundAlone(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		first, second := inOrder(t, srv, several(t, srv, 2, 2))
		leaving := second.leave()
		zkrtest.Pending(t, leaving)
		look := srv.On(zktest.Match{Op: zktest.OpGetChildren2, Session: second.session()}).Hold()
		require.NoError(t, first.Leave(t.Context()))
		<-look.Hit()
		ps := several(t, srv, 2, 2)
		enterAll(t, ps...)
		look.Release()
		require.NoError(t, returned(t, leaving, 0))
		require.Contains(t, children(srv), "ready")
		leaveAll(t, ps...)
	})
}

// All of a round have died: its ready is still there, and lets nobody in.
func TestReadyOfADeadRoundLetsNobodyIn(t *testing.T) {
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				dead := several(t, srv, n, n)
				enterAll(t, dead...)
				for _, p := range dead {
					p.c.Close()
				}
				require.Equal(t, []string{"ready"}, children(srv))

				ps := several(t, srv, n, n)
				var calls []waiting
				for _, p := range ps[1:] {
					calls = append(calls, p.enter())
				}
				zkrtest.Pending(t, calls...)
				require.NotContains(t, children(srv), "ready")
				require.NoError(t, ps[0].Enter(t.Context()))
				for _, c := range calls {
					require.NoError(t, returned(t, c, 0))
				}
				leaveAll(t, ps...)
				require.Empty(t, children(srv))
			})
		})
	}
}

// As above, where two find it at once: the one that is late deletes the ready of
// the new round, and puts it back.
func TestReadyIsPutBackWhereTheWrongOneWasDeleted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/barriers", nil))
		require.NoError(t, srv.Create(path, nil))
		require.NoError(t, srv.Create(path+"/ready", nil))
		ps := several(t, srv, 3, 2)
		late := srv.On(zktest.Match{Op: zktest.OpMulti, Session: ps[0].session(), Path: path + "/ready"}).Delay(time.Second)
		a := ps[0].enter()
		<-late.Hit()
		b := ps[1].enter()
		require.NoError(t, returned(t, b, 0), "counted with the first")
		leaving := ps[1].leave()
		require.NoError(t, returned(t, a, 2*time.Second))
		require.NoError(t, ps[0].Leave(t.Context()))
		require.NoError(t, returned(t, leaving, 0))
		require.Empty(t, children(srv))
	})
}

// As above, where the one that is late has left already, and takes so long that
// the new round is over: what it puts back would let the next one in alone.
func TestReadyOfARoundThatIsOverIsNotPutBack(t *testing.T) {
	for _, at := range []zktest.Op{zktest.OpGetChildren2, zktest.OpMulti} { // before it looks, and before it writes
		t.Run(at.String(), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := inOrder(t, srv, several(t, srv, 2, 2))
				late := srv.On(zktest.Match{Op: zktest.OpMulti, Session: b.session(), Path: path + "/ready"}).Hold()
				leaving := b.leave()
				zkrtest.Pending(t, leaving)
				a.c.Close() // it would have gone last, and taken ready with it
				<-late.Hit()
				puttingBack := srv.On(zktest.Match{Op: at, Session: b.session()}).Hold()

				ps := several(t, srv, 3, 2)
				enterAll(t, ps[:2]...)
				late.Release()
				<-puttingBack.Hit()
				require.NotContains(t, children(srv), "ready")
				leaveAll(t, ps[:2]...)
				alone := ps[2].enter()
				zkrtest.Pending(t, alone)
				puttingBack.Release()
				require.NoError(t, returned(t, leaving, 0))
				zkrtest.Pending(t, alone)
				enterAll(t, ps[0])
				require.NoError(t, returned(t, alone, 0))
				leaveAll(t, ps[0], ps[2])
				require.Empty(t, children(srv))
			})
		})
	}
}

// A peer's ready may be one that nobody else may write to.
func TestReadyThatMayNotBeReadOrWrittenIsDeletedAllTheSame(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/barriers", nil))
		require.NoError(t, srv.Create(path, nil))
		require.NoError(t, srv.Create(path+"/ready", nil))
		a, b := take(t, srv, 2), take(t, srv, 2)
		srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session(), Path: path + "/ready"}).Error(zktest.NoAuth)
		w := a.enter()
		zkrtest.Pending(t, w)
		require.NotContains(t, children(srv), "ready")
		enterAll(t, b)
		require.NoError(t, returned(t, w, 0))
		leaveAll(t, a, b)
	})
}

// inOrder has two enter, and returns them in the order of their names, of which
// the first waits for the second on the way out with its own znode in place.
func inOrder(t testing.TB, srv *zktest.Server, ps []*participant) (first, second *participant) {
	t.Helper()
	enterAll(t, ps...)
	lowest, ok := srv.Get(path + "/" + slices.Min(children(srv)))
	require.True(t, ok)
	if lowest.Stat.EphemeralOwner == ps[0].session() {
		return ps[0], ps[1]
	}
	return ps[1], ps[0]
}

// CURATOR-318: who gave up and comes again, while what it has left behind is still
// there, is one participant and not two.
func TestParticipantThatComesAgainIsCountedOnce(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Server, *participant){
		"in the same session": func(srv *zktest.Server, a *participant) {
			srv.On(zktest.Match{Op: zktest.OpDelete, Session: a.session()}).Times(3).Error(zktest.Throttled)
		},
		"in another one": func(srv *zktest.Server, a *participant) { // ClickHouse#116690
			srv.On(zktest.Match{Session: a.session()}).NewSession()
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				ps := several(t, srv, 3, 3)
				ctx, cancel := context.WithCancel(t.Context())
				gaveUp := start(func() error { return ps[0].Enter(ctx) })
				zkrtest.Pending(t, gaveUp)
				ps[0].cable.Refuse(true)
				ps[0].cable.Cut()
				lose(srv, ps[0])
				cancel()
				require.ErrorIs(t, returned(t, gaveUp, 0), context.Canceled)
				again, other := ps[0].enter(), ps[1].enter()
				ps[0].cable.Refuse(false)
				for range 2000 {
					if len(children(srv)) == 3 {
						break
					}
					time.Sleep(time.Millisecond)
				}
				require.Len(t, children(srv), 3, "what it has left behind is still there")
				zkrtest.Pending(t, again, other)
				time.Sleep(T + 2*tick)
				require.Len(t, children(srv), 2)
				zkrtest.Pending(t, again, other)
				enterAll(t, ps[2])
				require.NoError(t, returned(t, again, 0))
				require.NoError(t, returned(t, other, 0))
				leaveAll(t, ps...)
			})
		})
	}
}

// A participant that dies inside is not waited for.
func TestParticipantThatDiesDoesNotHangLeave(t *testing.T) {
	for name, die := range map[string]struct {
		how    func(*zktest.Server, *participant)
		within time.Duration
	}{
		"closed":  {func(_ *zktest.Server, p *participant) { p.c.Close() }, 0},
		"expired": {func(srv *zktest.Server, p *participant) { srv.ExpireSession(p.session()) }, 0},
		"silent":  {func(_ *zktest.Server, p *participant) { p.cable.Blackhole(zktest.BothWays) }, T + 2*tick},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				for dead := range 3 { // whatever its place in the order of names
					ps := several(t, srv, 3, 3)
					enterAll(t, ps...)
					var calls []waiting
					for i, p := range ps {
						if i != dead {
							calls = append(calls, p.leave())
						}
					}
					zkrtest.Pending(t, calls...)
					die.how(srv, ps[dead])
					for _, c := range calls {
						require.NoError(t, returned(t, c, die.within))
					}
					require.Empty(t, children(srv))
				}
			})
		})
	}
}

// Who was dead before it could leave is told so, and the others are not kept.
func TestParticipantThatLostItsPlaceIsTold(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 2, 2)
		enterAll(t, ps...)
		srv.ExpireSession(ps[0].session())
		time.Sleep(2 * time.Second)
		require.NoError(t, ps[1].Leave(t.Context()))
		require.ErrorIs(t, ps[0].Leave(t.Context()), recipes.ErrLost)
		enterAll(t, ps...)
		for _, name := range children(srv) {
			require.NoError(t, srv.Delete(path+"/"+name))
		}
		for _, p := range ps {
			require.ErrorIs(t, p.Leave(t.Context()), recipes.ErrLost)
		}
		require.Empty(t, children(srv))
		enterAll(t, ps...)
		leaveAll(t, ps...)
	})
}

// While it waits a participant comes again where somebody has deleted its znode.
func TestParticipantWhoseZnodeIsDeletedComesAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := take(t, srv, 2), take(t, srv, 2)
		w := a.enter()
		zkrtest.Pending(t, w)
		require.NoError(t, srv.DeleteAll("/barriers"))
		require.Len(t, children(srv), 1)
		zkrtest.Pending(t, w)

		// Also where the event never comes.
		srv.OnEvent(zktest.EventMatch{Session: a.session()}).Suppress()
		require.NoError(t, srv.Delete(path+"/"+children(srv)[0]))
		require.Empty(t, children(srv))
		time.Sleep(T)
		require.Len(t, children(srv), 1)
		zkrtest.Pending(t, w)
		enterAll(t, b)
		require.NoError(t, returned(t, w, 0))
	})
}

// As above, where others complete a round before it has learned of it, and where
// it completes one itself.
func TestParticipantWhoseZnodeIsDeletedIsNotIn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 2)
		w := ps[0].enter()
		own := children(srv)[0]
		ps[0].cable.Stall(zktest.ToClient)
		require.NoError(t, srv.Delete(path+"/"+own))
		enterAll(t, ps[1:]...)
		zkrtest.Pending(t, w)
		ps[0].cable.Restore()
		require.NoError(t, returned(t, w, 0))
		leaveAll(t, ps...) // a lost place would be an error

		w = ps[0].enter()
		zkrtest.Pending(t, w)
		before := children(srv)
		completes := srv.On(zktest.Match{Op: zktest.OpMulti, Session: ps[1].session()}).Hold()
		v := ps[1].enter()
		<-completes.Hit()
		for _, name := range children(srv) {
			if !slices.Contains(before, name) {
				require.NoError(t, srv.Delete(path+"/"+name))
			}
		}
		completes.Release()
		require.NoError(t, returned(t, w, 0))
		require.NoError(t, returned(t, v, 0))
		leaveAll(t, ps[:2]...)
	})
}

// A failed call leaves nothing, whatever fails.
func TestFailedEnterLeavesNothing(t *testing.T) {
	for name, fail := range map[string]func(*zktest.Hook) *zktest.Hook{
		"request lost": (*zktest.Hook).DropBeforeCommit,
		"reply lost":   (*zktest.Hook).DropReply,
		"throttled":    func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.Throttled) },
		"no auth":      func(h *zktest.Hook) *zktest.Hook { return h.Error(zktest.NoAuth) },
		"late":         func(h *zktest.Hook) *zktest.Hook { return h.DelayReply(2 * time.Second) },
	} {
		for op, at := range map[zktest.Op]string{
			zktest.OpCreate: path + "/*", zktest.OpGetData: path + "/*", zktest.OpExists: path + "/ready", zktest.OpGetChildren2: path,
		} {
			t.Run(name+" at "+op.String(), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					require.NoError(t, srv.Create("/barriers", nil))
					require.NoError(t, srv.Create(path, nil))
					a, b := take(t, srv, 2), take(t, srv, 2)
					fail(srv.On(zktest.Match{Op: op, Session: a.session(), Path: at}))
					require.Error(t, a.Enter(soon(t, 1500*time.Millisecond)))
					time.Sleep(3 * time.Second)
					require.Empty(t, children(srv))
					enterAll(t, a, b)
					leaveAll(t, a, b)
					require.Empty(t, children(srv))
				})
			})
		}
	}
}

// What ends a round is made good where the answer is lost.
func TestLeaveWhoseAnswerIsLostSucceeds(t *testing.T) {
	for name, fail := range map[string]func(*zktest.Hook) *zktest.Hook{
		"request lost": (*zktest.Hook).DropBeforeCommit,
		"reply lost":   (*zktest.Hook).DropReply,
	} {
		for _, op := range []zktest.Op{zktest.OpMulti, zktest.OpDelete} {
			t.Run(name+" at "+op.String(), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					ps := several(t, srv, 3, 3)
					enterAll(t, ps...)
					fail(srv.On(zktest.Match{Op: op}))
					var calls []waiting
					for _, p := range ps {
						calls = append(calls, p.leave())
					}
					for _, c := range calls {
						require.NoError(t, returned(t, c, 3*time.Second))
					}
					require.Empty(t, children(srv))
				})
			})
		}
	}
}

// ZOOKEEPER-4655: the event never comes.
func TestParticipantWhoseEventIsLostLooksAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := take(t, srv, 2), take(t, srv, 2)
		w := a.enter()
		zkrtest.Pending(t, w)
		srv.OnEvent(zktest.EventMatch{Session: a.session()}).Suppress()
		require.NoError(t, b.Enter(t.Context()))
		zkrtest.Pending(t, w)
		require.NoError(t, returned(t, w, T))
		w = a.leave()
		zkrtest.Pending(t, w)
		srv.OnEvent(zktest.EventMatch{Session: a.session()}).Optional().Suppress()
		require.NoError(t, b.Leave(t.Context()))
		require.NoError(t, returned(t, w, T))
	})
}

// The context bounds every wait.
func TestDoubleCallsEndWithTheirContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 2, 2)
		enterAll(t, ps...)
		third := take(t, srv, 2)
		srv.Freeze()
		for _, call := range []func(context.Context) error{ps[0].Leave, ps[1].Leave, third.Enter} {
			began := time.Now()
			require.ErrorIs(t, call(soon(t, 300*time.Millisecond)), context.DeadlineExceeded)
			require.Equal(t, 300*time.Millisecond, time.Since(began))
		}
		srv.Thaw()
		time.Sleep(2 * time.Second)
		names := children(srv)
		require.Subset(t, []string{"ready"}, names, "who gave up is gone")
		enterAll(t, ps...)
		leaveAll(t, ps...)
		require.Empty(t, children(srv))
	})
}

func TestDoubleCallsEndWhenTheClientIsClosed(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 3, 2)
		enterAll(t, ps[:2]...)
		w := ps[0].leave()
		alone, err := barrier.NewDouble(ps[2].c, path+"-other", 2)
		require.NoError(t, err)
		v := start(func() error { return alone.Enter(t.Context()) })
		zkrtest.Pending(t, w, v)
		ps[0].c.Close()
		ps[2].c.Close()
		require.ErrorIs(t, returned(t, w, 0), recipes.ErrClosed)
		require.ErrorIs(t, returned(t, v, 0), recipes.ErrClosed)
		require.Empty(t, srv.Children(path+"-other"))
	})
}

func TestEnteringTwicePanics(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := take(t, srv, 1)
		require.ErrorIs(t, a.Leave(t.Context()), barrier.ErrNotInside)
		require.NoError(t, a.Enter(t.Context()))
		require.PanicsWithValue(t, "barrier: Enter of a participant that is inside", func() { _ = a.Enter(t.Context()) })
		require.NoError(t, a.Leave(t.Context()))
		require.NoError(t, a.Enter(t.Context()))
	})
}

// Members as Curator and kazoo make them, and kazoo's haste: it deletes ready as
// soon as it leaves, before others have seen it.
func TestDoubleWithPeers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		require.NoError(t, srv.Create("/barriers", nil))
		require.NoError(t, srv.Create(path, nil))
		a := take(t, srv, 2)
		w := a.enter()
		zkrtest.Pending(t, w)
		const peer = path + "/0a8f0d4a6a0f4c1e9d3a5b7c9d1e2f30"
		require.NoError(t, srv.Create(peer, []byte("host-1")))
		srv.On(zktest.Match{Op: zktest.OpExists, Session: a.session()}).Optional().Delay(time.Second)
		require.NoError(t, srv.Create(path+"/ready", nil))
		require.NoError(t, srv.Delete(path+"/ready"))
		require.NoError(t, srv.Delete(peer))
		require.NoError(t, returned(t, w, 2*time.Second))
		require.NoError(t, a.Leave(t.Context()))
		require.Empty(t, children(srv))

		// Ours is the one that completes the round.
		require.NoError(t, srv.Create(peer, []byte("host-1")))
		require.NoError(t, a.Enter(t.Context()))
		require.Contains(t, children(srv), "ready")
		w = a.leave()
		zkrtest.Pending(t, w)
		require.NotContains(t, children(srv), "ready", "kazoo would wait for it to leave")
		require.NoError(t, srv.Delete(peer))
		require.NoError(t, returned(t, w, 0))
		require.Empty(t, children(srv))

		// Each of them counts.
		require.NoError(t, srv.Create(peer, []byte("host-1")))
		require.NoError(t, srv.Create(path+"/5e0a8bd8-4d45-4bd2-8c3a-1a2b3c4d5e6f", []byte("10.0.0.2")))
		require.NoError(t, take(t, srv, 3).Enter(t.Context()))
	})
}

// kazoo takes ready for a participant, so that it may wait on its way out for the
// deletion of that; and another event would cost it its watch.
func TestWhoJoinsIsSeenToDeleteReady(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		ps := several(t, srv, 4, 2)
		enterAll(t, ps[:2]...)
		peer := zkrtest.Session(t, zkrtest.Dial(t, srv))
		for _, p := range ps[2:] {
			_, there, watch, err := peer.ExistsWatch(t.Context(), path+"/ready")
			require.NoError(t, err)
			require.True(t, there)
			require.NoError(t, p.Enter(t.Context()))
			synctest.Wait()
			require.True(t, watch.Deleted())
			watch.Stop()
			require.Contains(t, children(srv), "ready")
		}
		leaveAll(t, ps...)
		require.Empty(t, children(srv))
	})
}

// Rounds follow each other as fast as they can, under cuts and lost events, and
// none overtakes another.
func TestRoundsFollowEachOther(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		const n, rounds = 5, 60
		ps := several(t, srv, n, n)
		var arrived, departed atomic.Int32
		var wg sync.WaitGroup
		for _, p := range ps {
			wg.Go(func() {
				for round := range int32(rounds) {
					arrived.Add(1)
					if err := p.Enter(t.Context()); err != nil {
						t.Errorf("enter: %v", err)
						return
					}
					if all := arrived.Load(); all != (round+1)*n {
						t.Errorf("round %d: let in when %d had arrived", round, all)
					}
					time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
					departed.Add(1)
					if err := p.Leave(t.Context()); err != nil {
						t.Errorf("leave: %v", err)
						return
					}
					if all := departed.Load(); all != (round+1)*n {
						t.Errorf("round %d: let out when %d had set out", round, all)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for cutting := true; cutting; {
			select {
			case <-done:
				cutting = false
			case <-time.After(time.Duration(rand.N(1000)) * time.Millisecond):
				ps[rand.N(n)].cable.Cut()
			}
		}
		require.Empty(t, children(srv))
	})
}

// On servers of which one lags behind.
func TestDoubleOverAServerThatLagsBehind(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		leader, follower := srv.Member(0), srv.Member(1)
		require.NoError(t, follower.Refuse(true))
		a := take(t, srv, 2)
		require.NoError(t, follower.Refuse(false))
		require.NoError(t, leader.Refuse(true))
		b := take(t, srv, 2)
		require.NoError(t, leader.Refuse(false))
		follower.SetLag(time.Second)
		for range 3 {
			wa := a.enter()
			time.Sleep(T)
			zkrtest.Pending(t, wa)
			wb := b.enter()
			require.NoError(t, returned(t, wa, 5*time.Second))
			require.NoError(t, returned(t, wb, 5*time.Second))
			wb = b.leave()
			time.Sleep(T)
			zkrtest.Pending(t, wb)
			wa = a.leave()
			require.NoError(t, returned(t, wa, 5*time.Second))
			require.NoError(t, returned(t, wb, 5*time.Second))
			require.Empty(t, children(srv))
		}
	}, zktest.WithFollowers(1))
}

// Who has set out goes on waiting for the others when its session is lost.
func TestLeaveGoesOnInAnotherSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		for range 4 { // whatever the order of names
			a, b := take(t, srv, 2), take(t, srv, 2)
			enterAll(t, a, b)
			wb := b.leave()
			gone := len(children(srv)) == 2 // its znode is, where it is not to go last
			srv.ExpireSession(b.session())
			time.Sleep(3 * time.Second)
			if gone {
				zkrtest.Pending(t, wb)
			} else {
				require.ErrorIs(t, returned(t, wb, 0), recipes.ErrLost)
			}
			require.NoError(t, a.Leave(t.Context()))
			if gone {
				require.NoError(t, returned(t, wb, 0))
			}
			require.Empty(t, children(srv))
		}
	})
}
