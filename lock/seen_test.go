package lock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What is shown of contenders, in listings and in errors.

// requireWait states where a wait ended, and that whoever was in the way is who
// holds.
func requireWait(t testing.TB, wait *recipes.WaitError, position int, holder *recipes.Lease, identity string) {
	t.Helper()
	require.True(t, strings.HasPrefix(holder.Path(), wait.Path), "of the lock, or of a member: %s", wait.Path)
	require.True(t, strings.HasPrefix(wait.Holder.Path, wait.Path+"/"), wait.Holder.Path)
	require.Equal(t, position, wait.Position)
	require.Equal(t, holder.Session().ID(), wait.Holder.Session)
	require.Equal(t, identity, wait.Holder.Identity)
	require.True(t, wait.Holder.Holds)
}

// seen is what a listing tells of contenders apart from who they are.
type seen struct {
	kind     recipes.Kind
	naming   recipes.Naming
	holds    bool
	position int
	age      time.Duration
}

func look(list []recipes.Contender) (all []seen) {
	for _, c := range list {
		all = append(all, seen{c.Kind, c.Naming, c.Holds, c.Position, c.Age - time.Millisecond})
	}
	return all
}

// oneAMinute gives each call a client of its own, one a minute.
func oneAMinute(t testing.TB, srv *zktest.Server, asks ...func(*party) asking) (queue []<-chan result) {
	t.Helper()
	for _, ask := range asks {
		queue = append(queue, async(t, ask(join(t, srv))))
		synctest.Wait()
		time.Sleep(time.Minute)
	}
	return queue
}

func TestMutexQueueTellsWhoHoldsAndForHowLongEachHasBeenThere(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv)
		queue := []<-chan result{async(t, a.Lock)}
		synctest.Wait()
		time.Sleep(time.Minute)
		queue = append(queue, oneAMinute(t, srv, kinds["mutex"], kinds["mutex"])...)
		list, err := a.Queue(t.Context())
		require.NoError(t, err)
		const curator = recipes.NamingCurator
		require.Equal(t, []seen{
			{recipes.KindMutex, curator, true, 0, 3 * time.Minute},
			{recipes.KindMutex, curator, false, 1, 2 * time.Minute},
			{recipes.KindMutex, curator, false, 2, time.Minute},
		}, look(list))
		for _, q := range queue {
			release(t, granted(t, q, 0))
		}
	})
}

func TestReadWriteQueueTellsReadersAndWritersAndWhichOfThemHold(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		queue := oneAMinute(t, srv, reading, reading, writing, reading)
		a := join(t, srv)
		list, err := rwMutex(t, a.c).Queue(t.Context())
		require.NoError(t, err)
		const curator, unknown = recipes.NamingCurator, -time.Millisecond
		require.Equal(t, []seen{
			{recipes.KindReader, curator, true, 0, unknown},
			{recipes.KindReader, curator, true, 1, unknown},
			{recipes.KindWriter, curator, false, 2, unknown},
			{recipes.KindReader, curator, false, 3, unknown},
		}, look(list), "who has written nothing does not know the servers' time")
		for _, q := range queue {
			release(t, granted(t, q, 0))
		}
	})
}

func TestSemaphoreQueueTellsPermitsAndThoseWhoWaitForThem(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		queue := oneAMinute(t, srv, acquiring(2), acquiring(1), acquiring(2))
		list, err := semaphore(t, join(t, srv).c, limit).Queue(t.Context())
		require.NoError(t, err)
		const kind, curator, unknown = recipes.KindPermit, recipes.NamingCurator, -time.Millisecond
		require.Equal(t, []seen{
			{kind, curator, true, 0, unknown},
			{kind, curator, true, 0, unknown},
			{kind, curator, true, 0, unknown},
			{kind, curator, false, 1, unknown},
		}, look(list))
		for _, q := range queue {
			release(t, granted(t, q, 0))
		}
	})
}

func TestMultiQueueTellsOfEachMember(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		queue := oneAMinute(t, srv, middle, together3)
		list, err := multi(t, join(t, srv).c, members...).Queue(t.Context())
		require.NoError(t, err)
		const kind, curator, unknown = recipes.KindMutex, recipes.NamingCurator, -time.Millisecond
		require.Equal(t, []seen{
			{kind, curator, true, 0, unknown}, // of the first member, for which the multi-lock does not wait
			{kind, curator, true, 0, unknown},
			{kind, curator, false, 1, unknown},
		}, look(list))
		require.Equal(t, list[0].Session, list[2].Session)
		for _, q := range queue {
			release(t, granted(t, q, 0))
		}
	})
}

func TestContenderSaysInWordsWhoItIsAndHowLongItHasBeenThere(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, c := range map[string]recipes.Contender{
		`"a\x1b[31m", which came 90ms ago`:           {Path: "/x", Identity: "a\x1b[31m", Age: 90 * time.Millisecond},
		`"a", which came 1h0m3s ago`:                 {Path: "/x", Identity: "a", Age: time.Hour + 3*time.Second + 70*time.Millisecond},
		`"a", which came at 2026-03-01 12:00:00 UTC`: {Path: "/x", Identity: "a", Created: at},
		`somebody who has gone since`:                {},
	} {
		require.Equal(t, want, c.String())
	}
}

func TestContendersOfOtherFamiliesAreToldByTheirNames(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, peer := join(t, srv), zkrtest.Session(t, zkrtest.Dial(t, srv))
		release(t, a.hold())
		const hex = "5c6eb4ad9aef4bf99a40b5f0a3d60e34"
		for _, prefix := range []string{
			"_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-lock-", "_c_" + hex + "-lock-", hex + "__lock__", hex + "lock-", "lock-", "_c_x-lock-",
		} {
			_, err := peer.Create(t.Context(), path+"/"+prefix, nil, recipes.EphemeralSequential, nil)
			require.NoError(t, err)
		}
		list, err := a.Queue(t.Context())
		require.NoError(t, err)
		var got []recipes.Naming
		for _, c := range list {
			got = append(got, c.Naming)
		}
		require.Equal(t, []recipes.Naming{
			recipes.NamingCurator, recipes.NamingGoZooKeeper, recipes.NamingKazoo, recipes.NamingKazoo, recipes.NamingOther, recipes.NamingOther,
		}, got)
	})
}

func TestWaitInVainTellsWhoHoldsAndHowLongThatHasBeenThere(t *testing.T) {
	for name, how := range kinds {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				hold := excluding[name]
				if hold == nil {
					hold = how
				}
				holder := granted(t, async(t, hold(join(t, srv, recipes.WithIdentity("the holder")))), time.Second)
				time.Sleep(time.Minute)
				wait := waitInVain(t, how(join(t, srv)))
				requireWait(t, wait, 1, holder, "the holder")
				require.Equal(t, wait.Holder.Path, wait.Behind)
				require.Equal(t, time.Minute+10*time.Second+time.Millisecond, wait.Holder.Age)
				require.ErrorContains(t, wait, `at position 1, held by "the holder", which came 1m10s ago ("`+wait.Holder.Path+`")`)

				next := async(t, how(join(t, srv, recipes.WithIdentity("next"))))
				zkrtest.Pending(t, next)
				time.Sleep(time.Minute)
				wait = waitInVain(t, how(join(t, srv)))
				if holder.Path() == semPath { // nobody knows which permit it will be
					require.Equal(t, semPath, wait.Path)
					require.Equal(t, 2, wait.Position)
					require.Equal(t, wait.Holder.Path, wait.Behind)
					require.ErrorContains(t, wait, `at position 2, behind "next", which came 1m10s ago`)
				} else {
					requireWait(t, wait, 2, holder, "the holder")
					require.Equal(t, 2*time.Minute+20*time.Second+time.Millisecond, wait.Holder.Age)
				}
				release(t, holder)
				release(t, granted(t, next, time.Second))
			})
		})
	}
}

// waitInVain waits for ten seconds.
func waitInVain(t testing.TB, ask asking) (wait *recipes.WaitError) {
	t.Helper()
	err := failed(t, zkrtest.Go(func() (*recipes.Lease, error) { return ask(soon(t, 10*time.Second)) }), 10*time.Second)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorAs(t, err, &wait)
	return wait
}
