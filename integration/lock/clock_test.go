package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// What these tests do to the links has made simpler lease clocks than ours
// overlap: "last confirmed write + T − tick/2" by seconds.

// An idle session's first lease rests on one write. Nothing is proven until a
// second one is confirmed, and the server freezes before that.
func TestFirstLeaseOfAnIdleSessionEndsBeforeTheNextGrantWhenItsServerFreezes(t *testing.T) {
	parallel(t)
	timeout := proof.Size(2*time.Second, 4*time.Second)
	report := proof.New(t, "lock-first-grant", "The first lease of an idle session, and its server frozen right after the grant")
	e := startTrio(t, nil)
	unproven := 0
	for range proof.Size(1, 10) {
		e.roles(t)
		holders := make([]*client, proof.Size(4, 8))
		mutexes := make([]*lock.Mutex, len(holders))
		for i := range holders {
			// A container is deleted while it is empty; making it again is writing.
			holders[i] = dial(t, e.follower.Addr(), timeout, recipes.WithPersistentParents())
			mutexes[i] = holders[i].mutex(t, fmt.Sprintf("%s-%d", zkserver.Path(t), i))
			for range 2 { // from now on an acquire is one write
				l, err := mutexes[i].Lock(within(t, patience))
				require.NoError(t, err)
				require.NoError(t, l.Release(within(t, patience)))
			}
		}
		time.Sleep(2 * timeout) // idle: what is proven by now is over then
		all := make([]rivals, len(holders))
		atGrant := make([]time.Duration, len(holders))
		var wg sync.WaitGroup
		for i, h := range holders {
			wg.Go(func() {
				l, err := mutexes[i].Lock(within(t, patience))
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				atGrant[i] = l.Remaining()
				all[i] = rivals{path: l.Path(), holder: h, held: h.hold(t, l)}
			})
		}
		wg.Wait()
		require.NoError(t, e.follower.Freeze())
		for i := range all {
			all[i].rival = dial(t, e.except(e.follower), timeout)
			all[i].next = all[i].rival.lockLater(t, all[i].path)
		}
		gaps(t, report, "frozen after the grant", all)
		for i, r := range all {
			iv := r.held.seen.Interval()
			if atGrant[i] <= timeout/8 {
				unproven++
			}
			report.Printf("granted with %v of T/8 = %v; ended %v after the grant", round(atGrant[i]), timeout/8, round(iv.Until-iv.From))
		}
		require.NoError(t, e.follower.Thaw())
		for _, r := range all {
			r.holder.Close()
			r.rival.Close()
		}
	}
	report.Printf("%d leases were granted before their proof", unproven)
	if proof.Full() { // on a busy machine a few of them may all have been proven by the time they are looked at
		require.Positive(t, unproven, "every first lease was proven: this shows nothing")
	}
}

// Commits reach the follower after the leader has long ceased to hear from it:
// a write that is confirmed now says nothing about now.
func TestLateCommitsDoNotProlongALease(t *testing.T) {
	parallel(t)
	timeout := proof.Size(2*time.Second, 4*time.Second)
	report := proof.New(t, "lock-late-commits", "Leader to follower stalled, writes sent, then released while the other direction is cut")
	e := startTrio(t, map[string]string{"syncLimit": "10"})
	for _, part := range proof.Size([]int{4, 12}, []int{1, 3, 5, 8, 12, 16, 20, 24}) {
		stall := timeout * time.Duration(part) / 20
		e.roles(t)
		all := contend(t, proof.Size(4, 8),
			func() *client { return dial(t, e.follower.Addr(), timeout) },
			func() *client { return dial(t, e.except(e.follower), timeout) })
		awaitSteady(t, all)
		toFollower, toLeader := e.Link(e.leader, e.follower), e.Link(e.follower, e.leader)

		toFollower.Stall()
		stop := writeOn(t, all)
		time.Sleep(stall) // the length of the fault
		toLeader.Blackhole()
		toFollower.Pass()
		gaps(t, report, fmt.Sprintf("stalled for %v, T = %v", stall, timeout), all)
		stop()
		for _, r := range all {
			r.holder.Close()
			r.rival.Close()
		}
	}
}

// writeOn has each second holder send one write and the others one after the
// other without waiting. stop joins them.
func writeOn(t *testing.T, all []rivals) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i, r := range all {
		s := r.held.Session()
		write := func() { _, _ = s.Set(ctx, "/", nil, -1) }
		wg.Go(write)
		if i%2 == 0 {
			continue
		}
		wg.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					wg.Go(write)
				case <-ctx.Done():
					return
				case <-s.Done():
					return
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
	return func() { cancel(); wg.Wait() }
}

// The server comes back granting less than it did. What is left of the lease by
// the shorter timeout may be nothing: then it is lost, which is as good.
func TestLeaseIsShortenedWhenAReconnectBringsAShorterTimeout(t *testing.T) {
	parallel(t)
	const before, after = 10 * time.Second, 2 * time.Second
	report := proof.New(t, "lock-shorter-timeout", "T is another after a reconnect")
	e := zkserver.Start(t, zkserver.Config{Tick: tick})
	s := e.Servers[0]
	c, p := dialAlone(t, s, before)
	h := c.lock(t, zkserver.Path(t))
	rival := dial(t, s.DirectAddr(), before)
	r := rivals{path: h.Path(), holder: c, held: h, rival: rival, next: rival.lockLater(t, h.Path())}
	awaitQueued(t, rival, r.path, 2)
	require.Equal(t, before, h.Session().Timeout())

	s.Configure(func(cfg *zkserver.Config) { cfg.Settings["maxSessionTimeout"] = fmt.Sprint(after.Milliseconds()) })
	require.NoError(t, s.Restart(within(t, patience)))
	eventually(t, "the shorter timeout is known", func() bool {
		return h.Session().Timeout() == after || h.Session().Err() != nil
	})
	if h.Session().Err() != nil {
		report.Printf("one server restarted: it was so slow that the session expired")
		require.ErrorIs(t, h.Err(), recipes.ErrLost)
		mustHold(t, r.next, patience)
		return
	}
	require.LessOrEqual(t, h.Remaining(), after)
	report.Printf("one server restarted: T = %v, then %v; %v left of the lease", before, after, round(h.Remaining()))
	r.held = c.hold(t, h.Lease) // what was promised before is void
	p.Blackhole()
	gaps(t, report, "its network then silent", []rivals{r})
}

// Servers that grant different timeouts, and a session that moves between them.
func TestLeaseIsShortenedWhenTheSessionMovesToAServerThatGrantsLess(t *testing.T) {
	parallel(t)
	const before, after = 10 * time.Second, 2 * time.Second
	report := proof.New(t, "lock-shorter-timeout-elsewhere", "A session that moves to a server that grants a shorter T")
	e := startTrio(t, nil)
	m := e.uneven(t, after)
	all := m.contend(t, before)
	h := all[0].held

	m.move(t)
	eventually(t, "moved", func() bool { return h.Session().Timeout() == after })
	require.LessOrEqual(t, h.Remaining(), after)
	report.Printf("moved: T = %v, then %v; %v left of the lease", before, after, round(h.Remaining()))
	all[0].held = all[0].holder.hold(t, h.Lease) // what was promised before is void
	e.Isolate(m.less)
	gaps(t, report, "that server then cut off", all)
}

// The same, and the answer that says so never arrives: the session is resumed by
// the shorter timeout, and then the network is silent.
func TestLeaseEndsInTimeThoughTheNewsOfAShorterTimeoutIsLost(t *testing.T) {
	parallel(t)
	const before, after = 10 * time.Second, 2 * time.Second
	report := proof.New(t, "lock-shorter-timeout-unheard", "A session that moves to a server that grants a shorter T, whose answer is lost")
	e := startTrio(t, nil)
	m := e.uneven(t, after)
	for range proof.Size(1, 5) {
		all := m.contend(t, before)
		h := all[0].held
		awaitSteady(t, all)
		resumed := make(chan struct{}, 1)
		m.to.OnResume(func(int64) {
			m.to.ToClient().Blackhole()
			select {
			case resumed <- struct{}{}:
			default:
			}
		})
		m.move(t)
		receive(t, "the session is resumed", resumed, patience)
		m.to.Blackhole()
		report.Printf("resumed by %v in place of %v unheard, with %v left of the lease", after, before, round(h.Remaining()))
		all[0].held = all[0].holder.hold(t, h.Lease) // what was promised before is void
		gaps(t, report, "its network then silent", all)
		all[0].holder.Close()
		all[0].rival.Close()
		m.to.OnResume(nil)
		m.to.Pass()
		require.NoError(t, m.from.Accept())
	}
}

// uneven is a pair of servers of an ensemble, behind a proxy each.
type uneven struct {
	e        *trio
	less     *zkserver.Server // grants less than the other
	from, to *proxy.Proxy     // before the other one, and before less
}

func (e *trio) uneven(t *testing.T, most time.Duration) *uneven {
	less := e.follower
	less.Configure(func(cfg *zkserver.Config) { cfg.Settings["maxSessionTimeout"] = fmt.Sprint(most.Milliseconds()) })
	require.NoError(t, less.Restart(within(t, patience)))
	e.roles(t)
	from, err := e.other.NewProxy()
	require.NoError(t, err)
	to, err := less.NewProxy()
	require.NoError(t, err)
	return &uneven{e, less, from, to}
}

// contend has a holder that starts at the server that grants more, and a rival
// that stays away from the other one.
func (m *uneven) contend(t *testing.T, timeout time.Duration) []rivals {
	m.to.Refuse()
	all := contend(t, 1,
		func() *client { return dial(t, m.from.Addr()+","+m.to.Addr(), timeout) },
		func() *client { return dial(t, m.e.except(m.less), timeout) })
	require.Equal(t, timeout, all[0].held.Session().Timeout())
	return all
}

// move leaves the holder the server that grants less. What the other one has
// heard of the session before goes to the leader with its next answer to a ping,
// and brings the longer timeout back: that has passed by then.
func (m *uneven) move(t *testing.T) {
	m.from.Refuse()
	m.from.Cut()
	time.Sleep(tick)
	require.NoError(t, m.to.Accept())
}
