package election_test

import (
	"context"
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

// What can be done with a term, and what a participant knows of itself.

func TestCandidatesLeadInTheOrderInWhichTheyCame(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		term := join(t, srv, "0").lead()
		var waits []<-chan result
		for range 5 {
			waits = append(waits, join(t, srv, "n").wait())
		}
		for _, next := range waits {
			zkrtest.Pending(t, next)
			resign(t, term)
			later := elected(t, next, 0)
			require.Greater(t, later.Token(), term.Token())
			term = later
		}
	})
}

// By the lease clock, and false from the beginning of Resign.
func TestIsLeaderGoesByTheLeaseClock(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		require.False(t, a.IsLeader())
		term := a.lead()
		require.True(t, a.IsLeader())
		now, ok := a.Term()
		require.True(t, ok)
		require.Same(t, term, now)
		time.Sleep(10 * T)
		require.True(t, a.IsLeader())

		ctx := term.Context(t.Context())
		held := srv.On(zktest.Match{Op: zktest.OpDelete, Path: term.Lease().Node()}).Delay(time.Second)
		resigning := zkrtest.Go(func() (struct{}, error) { return struct{}{}, term.Resign(t.Context()) })
		<-held.Hit()
		require.False(t, a.IsLeader(), "though the znode is there")
		require.Len(t, srv.Children(path), 1)
		<-ctx.Done()
		<-term.Done()
		require.ErrorIs(t, term.Err(), recipes.ErrReleased)
		require.NoError(t, outcome(t, resigning, time.Second).Err)
		require.NoError(t, term.Resign(t.Context()), "again")

		term = a.lead()
		time.Sleep(T)
		srv.Freeze()
		remaining := term.Lease().Remaining()
		time.Sleep(remaining - 1)
		require.True(t, a.IsLeader())
		time.Sleep(time.Nanosecond)
		require.False(t, a.IsLeader(), "no packet was needed")
		require.ErrorIs(t, term.Err(), recipes.ErrLost)
		srv.Thaw()
		require.ErrorIs(t, term.Resign(t.Context()), recipes.ErrLost)
	})
}

// A context that has ended gets nothing, and one that ends leaves nothing.
func TestCampaignKeepsToItsContext(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := a.Campaign(ctx)
		require.ErrorIs(t, err, context.Canceled)
		term := a.lead()
		ctx, cancel = context.WithCancel(t.Context())
		r := b.campaign(ctx)
		zkrtest.Pending(t, r)
		cancel()
		err = outcome(t, r, 0).Err
		require.ErrorIs(t, err, context.Canceled)
		var wait *recipes.WaitError
		require.ErrorAs(t, err, &wait)
		require.Equal(t, "a", wait.Holder.Identity)
		require.Len(t, candidates(srv), 1)
		resign(t, term)
	})
}

// The term outlives the context of its campaign.
func TestTermOutlivesItsCampaign(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		ctx, cancel := context.WithCancel(t.Context())
		term := elected(t, a.campaign(ctx), 0)
		cancel()
		time.Sleep(5 * T)
		require.NoError(t, term.Err())
		resign(t, term)
	})
}

// What a leader proclaims is seen as long as it leads, and not written after.
func TestProclaimIsSeenAndEndsWithTheTerm(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, o := join(t, srv, "a"), join(t, srv, "o")
		term := a.lead()
		require.NoError(t, term.Proclaim(t.Context(), []byte("10.0.0.1:80")))
		leader, err := o.Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, "10.0.0.1:80", leader.Identity)
		require.Equal(t, term.Token(), leader.Token)

		srv.On(zktest.Match{Op: zktest.OpMulti, Session: a.session()}).DropReply()
		require.NoError(t, term.Proclaim(t.Context(), []byte("10.0.0.2:80")), "tried again")
		for _, bad := range [][]byte{{0xff}, recipes.Revocation(), make([]byte, 4097)} {
			require.Error(t, term.Proclaim(t.Context(), bad))
		}
		require.NoError(t, term.Err())

		require.NoError(t, srv.Delete(term.Lease().Node()))
		require.ErrorIs(t, term.Proclaim(t.Context(), []byte("x")), recipes.ErrLost)
		again := a.lead()
		leader, err = o.Leader(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", leader.Identity, "the next term begins with the id")
		require.ErrorIs(t, term.Proclaim(t.Context(), []byte("x")), recipes.ErrLost)
		require.NoError(t, again.Err())
	})
}

// The function's context carries the lease, for the guards of what it writes to.
func TestContextOfRunCarriesTheLease(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a")
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, a.Run(ctx, func(ctx context.Context, term *election.Term) error {
			defer cancel()
			require.Equal(t, term.Token(), fence.HolderFrom(ctx).Token())
			lease, ok := recipes.LeaseFrom(ctx)
			require.True(t, ok)
			require.Same(t, term.Lease(), lease)
			require.Equal(t, path, lease.Path())
			return nil
		}))
	})
}

// client-go's health adaptor: who does not lead is well, and who goes on after
// the end of its term is not.
func TestCheckFailsForWhoActsAsLeaderTooLong(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv, "a"), join(t, srv, "b")
		const margin = 2 * time.Second
		require.NoError(t, a.Check(margin), "does not take part")
		ra := a.run()
		linger := make(chan time.Time)
		ra.linger = linger
		term := ra.leads(t, 0)
		rb := b.run()
		time.Sleep(3 * T)
		require.NoError(t, a.Check(margin), "leads")
		require.NoError(t, b.Check(margin), "waits")

		a.cable.Blackhole(zktest.BothWays)
		ended(t, term, T)
		require.NoError(t, a.Check(margin), "it may still be stopping")
		time.Sleep(margin)
		require.NoError(t, a.Check(margin))
		time.Sleep(time.Nanosecond)
		err := a.Check(margin)
		require.ErrorIs(t, err, recipes.ErrLost)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, term.Token().String())
		require.NoError(t, b.Check(margin))

		close(linger)
		synctest.Wait()
		require.NoError(t, a.Check(margin), "it has returned")
		rb.leads(t, T+2*tick)
	})
}
