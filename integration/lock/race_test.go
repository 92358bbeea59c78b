package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Sources: etcd#10111, vitessio/vitess#8309; CURATOR-79 (curator#600),
// CURATOR-62 (curator#583), vitess#15756 for the znode.
func TestGrantAndCancelCrossWithOneOutcome(t *testing.T) {
	rounds := proof.Size(300, 10_000)
	report := proof.New(t, "lock-cancel-race", "A grant and a cancellation at the same instant")
	s := zkserver.Shared(t).Servers[0]
	w, a, b := witness(t, s), dial(t, s.Addr(), soon), dial(t, s.Addr(), soon)
	path := zkserver.Path(t)
	ma, mb := a.mutex(t, path), b.mutex(t, path)
	granted := 0
	for range rounds {
		held, err := ma.Lock(within(t, soon))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		var lease *recipes.Lease
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			lease, err = mb.Lock(ctx)
		}()
		awaitQueued(t, w, path, 2)
		// From well before to well after the grant.
		time.AfterFunc(rand.N(3*time.Millisecond), cancel)
		require.NoError(t, held.Release(within(t, soon)))
		receive(t, "the end of Lock", ended, soon)
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.Nil(t, lease)
		} else {
			granted++
			require.NoError(t, lease.Err())
			require.NoError(t, lease.Verify(within(t, soon)))
			require.NoError(t, lease.Release(within(t, soon)))
		}
		eventually(t, "nothing is left", func() bool { return len(children(t, w, path)) == 0 })
	}
	report.Printf("%d rounds: %d granted and held, %d cancelled and nothing left", rounds, granted, rounds-granted)
	require.NotZero(t, granted)
	require.NotEqual(t, rounds, granted)
}

// Sources: samuel commit f774f13, samuel PR#145, kazoo commit 9b0a793,
// CURATOR-527 (curator#1046), CURATOR-641.
func TestPredecessorThatLeavesBetweenLookAndWatchIsNotWaitedFor(t *testing.T) {
	rounds := proof.Size(50, 1000)
	s := zkserver.Shared(t).Servers[0]
	a := dial(t, s.Addr(), soon)
	b, p := dialAlone(t, s, soon)
	path := zkserver.Path(t)
	ma, mb := a.mutex(t, path), b.mutex(t, path)
	requests := 0
	for range rounds {
		held, err := ma.Lock(within(t, soon))
		require.NoError(t, err)
		var once sync.Once
		p.Intercept(func(r proxy.Request) proxy.Verdict {
			if r.Op == jute.OpGetData {
				once.Do(func() {
					if err := held.Release(context.Background()); err != nil {
						t.Errorf("%v", err)
					}
				})
			}
			return proxy.Forward
		})
		before := p.Counts().Total()
		lease, err := mb.Lock(within(t, soon))
		require.NoError(t, err)
		requests = max(requests, p.Counts().Total()-before)
		require.NoError(t, lease.Release(within(t, soon)))
	}
	t.Logf("at most %d requests for a lock", requests)
}

// Source: vitess#15756.
func TestWaiterThatGivesUpLeavesAtOnce(t *testing.T) {
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	h := w.lock(t, path)
	c := dial(t, s.Addr(), soon)
	m := c.mutex(t, path)
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		_, err := m.Lock(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	eventually(t, "the waiters' znodes are gone", func() bool { return len(children(t, w, path)) == 1 })
	require.NoError(t, h.Release(within(t, soon)))
	l, err := m.Lock(within(t, soon))
	require.NoError(t, err)
	require.NoError(t, l.Release(within(t, soon)))
}

// Sources: CURATOR-396 (curator#916), gbif/pipelines#1164, vert-x3/vertx-zookeeper#33.
func TestHolderKilledAndStartedAgainQueuesBehindThoseWhoWait(t *testing.T) {
	parallel(t)
	const timeout = 2 * time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	p := startHolder(t, s.Addr(), "-timeout", timeout.String())
	p.send("lock x " + path)
	p.await(belief.Granted, patience)
	next := w.lockLater(t, path)
	awaitQueued(t, w, path, 2)
	p.Kill()
	p = startHolder(t, s.Addr(), "-timeout", timeout.String())
	p.send("lock x " + path)
	n := mustHold(t, next, patience)
	awaitQueued(t, w, path, 2)
	require.NoError(t, n.Verify(within(t, soon)))
	require.NoError(t, n.Release(within(t, soon)))
	again := p.await(belief.Granted, patience)
	require.Greater(t, again.Interval.Token, n.Token())
}

// The server deletes containers that are empty; a contender that comes just then
// makes the directory again. Sources: curator 9b68cbc4, otter#1192, NC#29,
// NC#307, CURATOR-173 (curator#694).
func TestReaperOfEmptyDirectoriesDoesNotDisturbContenders(t *testing.T) {
	parallel(t)
	grants := proof.Size(50, 1000)
	s := zkserver.Start(t, zkserver.Config{Tick: tick, JVM: []string{
		"-Dznode.container.checkIntervalMs=20", "-Dznode.container.maxPerMinute=60000",
	}}).Servers[0]
	w := witness(t, s)
	const path = "/app/locks/x"
	var held []belief.Interval
	var mu sync.Mutex // guards held
	var wg sync.WaitGroup
	for range 4 {
		m := dial(t, s.Addr(), soon).mutex(t, path)
		wg.Go(func() {
			for range grants {
				l, err := m.Lock(within(t, patience))
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				iv := belief.Interval{From: belief.Now(), Token: l.Token()}
				if err := errors.Join(l.Err(), l.Release(within(t, patience))); err != nil {
					t.Errorf("%v", err)
				}
				mu.Lock()
				held = append(held, iv)
				mu.Unlock()
				time.Sleep(rand.N(40 * time.Millisecond)) // let the directory be empty now and then
			}
		})
	}
	wg.Wait()
	requireRising(t, held)
	last := held[len(held)-1].Token
	eventually(t, "the directories are gone", func() bool {
		_, ok, err := w.session(t).Exists(within(t, soon), "/app")
		return err == nil && !ok
	})
	h := w.lock(t, path)
	require.Greater(t, h.Token(), last)
}

// Sources: CURATOR-653, CURATOR-652 (curator#1169, #1168), CURATOR-444; kazoo#116.
func TestOneHoldsAtATimeWhileServersFailInTurn(t *testing.T) {
	parallel(t)
	const timeout = 4 * time.Second
	contenders, rounds := 8, proof.Size(1, 6)
	report := proof.New(t, "lock-failover", "Contenders while servers are killed, frozen and cut off in turn")
	e := startTrio(t, map[string]string{"syncLimit": "4"})
	path := zkserver.Path(t)
	stop := make(chan struct{})
	var mu sync.Mutex // guards what follows
	var held []belief.Interval
	lost := 0
	var wg sync.WaitGroup
	for range contenders {
		c := dial(t, e.Connect(), timeout)
		m := c.mutex(t, path)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				l, err := m.Lock(within(t, 2*patience))
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				o := belief.Observe(l, c.grantedAt(l.Token()))
				select {
				case <-o.Done():
				case <-time.After(rand.N(50 * time.Millisecond)):
				}
				o.Stop()
				iv := o.Interval()
				err = l.Release(within(t, 2*patience))
				mu.Lock()
				held = append(held, iv)
				if errors.Is(err, recipes.ErrLost) {
					lost++
				} else if err != nil {
					t.Errorf("%v", err)
				}
				mu.Unlock()
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(held) }
	for range rounds {
		for name, fail := range map[string]func(*zkserver.Server) error{
			"killed":  (*zkserver.Server).Kill,
			"frozen":  (*zkserver.Server).Freeze,
			"cut off": func(s *zkserver.Server) error { e.Isolate(s); return nil },
		} {
			for _, role := range []string{leader, follower} {
				e.roles(t)
				n := count()
				s := e.in(role)
				begin := belief.Now()
				require.NoError(t, fail(s))
				eventually(t, "somebody is granted the lock again", func() bool { return count() > n+contenders })
				report.Printf("%s %s: %d grants later %v have passed", role, name, count()-n, since(begin))
				if name == "frozen" {
					require.NoError(t, s.Thaw())
				}
				require.NoError(t, s.Launch(within(t, patience)))
			}
		}
	}
	e.roles(t)
	close(stop)
	wg.Wait()
	requireRising(t, held)
	for i, next := range held[1:] {
		last := held[i]
		end := last.To
		if last.Ended { // not by Release: what it was promised counts
			end = max(end, last.Until)
		}
		require.Less(t, end, next.From, "two at once: %v and %v", last, next)
	}
	report.Printf("%d grants, %d of them lost in a failure: never two at once, tokens rising", len(held), lost)
}

// requireRising sorts grants by their time and requires that their tokens rise.
func requireRising(t *testing.T, held []belief.Interval) {
	t.Helper()
	sortByGrant(held)
	for i, next := range held[1:] {
		require.Less(t, held[i].Token, next.Token, fmt.Sprint(held[i], next))
	}
}
