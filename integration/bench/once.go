package bench

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
)

// Cases that are run once, or side by side.
const (
	joinCase      = "waiters join one lock in one session"
	holdCase      = "locks held by one process"
	reconnectCase = "reconnect with leases and waiters"
	renewCase     = "renewals"
	killCase      = "failover by kill -9"
)

// note adds a figure.
func (f *field) note(res *result, name, who string, n int, what string, value float64, unit string) {
	f.t.Helper()
	res.Singles = append(res.Singles, fact{f.a.storage, name, who, n, what, value, unit})
	f.t.Logf("%s, %s, %d: %-40s %s: %.6g %s", f.a.storage, name, n, who, what, value, unit)
}

// watches waits until the server keeps as many watches, and returns the time.
func (f *field) watches(ctx context.Context, n float64) time.Duration {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		m, err := f.a.zk.Metrics(ctx)
		require.NoError(f.t, err)
		if m["zk_watch_count"] >= n {
			return peers.Now()
		}
		time.Sleep(5 * time.Millisecond) // nothing tells
	}
}

func (f *field) watchCount(ctx context.Context) float64 {
	f.t.Helper()
	m, err := f.a.zk.Metrics(ctx)
	require.NoError(f.t, err)
	return m["zk_watch_count"]
}

// join has n waiters come to one lock at once, in one session. All are there
// when each watches somebody.
func (f *field) join(ctx context.Context, n int, res *result) {
	for _, e := range locks {
		p := f.programs[e.program]
		if e == theFloor || e.program == etcd {
			continue // it knows the order by creating one after the other; one session has but one place there
		}
		cost := f.a.count(ctx, f.t, e.program, func() {
			p.tell("join", f.a.countedAddr(e.program), e.kind, n, f.path())
			begin := time.Duration(p.hear(ctx).At)
			f.note(res, joinCase, e.title, n, "time", (f.watches(ctx, float64(n))-begin).Seconds()*1e3, "ms")
		})
		f.note(res, joinCase, e.title, n, "requests", cost.requests, "")
		f.note(res, joinCase, e.title, n, "bytes to the client", cost.bytes, "B")
		p.tell("memory")
		p.tell("end")
		f.note(res, joinCase, e.title, n, "memory of each", p.hear(ctx).Heap, "B")
	}
}

// hold has one process hold n locks.
func (f *field) hold(ctx context.Context, e entrant, n int, res *result) {
	p := f.programs[e.program]
	a := p.ask(ctx, "hold", f.a.addr(e.program), e.kind, n, f.path())
	f.noteHeld(res, e, n, a)
	p.ask(ctx, "end")
}

func (f *field) noteHeld(res *result, e entrant, n int, a answer) {
	f.note(res, holdCase, e.title, n, "time", float64(a.Took)/1e9, "s")
	f.note(res, holdCase, e.title, n, "memory of each", a.Heap, "B")
	f.note(res, holdCase, e.title, n, "sessions", float64(a.Sessions), "")
	if e.program != curator && e.program != kazoo {
		f.note(res, holdCase, e.title, n, "goroutines of each", a.Threads, "")
	}
}

// reconnect cuts all connections of a process that holds many locks and waits
// for others.
func (f *field) reconnect(ctx context.Context, n, waiters int, res *result) {
	p := f.programs[library]
	a := p.ask(ctx, "hold", f.a.proxy.Addr(), "mutex", n, f.path())
	f.noteHeld(res, ours, n, a)
	m, err := f.a.zk.Metrics(ctx)
	require.NoError(f.t, err)
	f.note(res, holdCase, ours.title, n, "data of each, by the server's count", m["zk_approximate_data_size"]/float64(n), "B")
	w := p.ask(ctx, "wait", waiters)
	f.note(res, reconnectCase, ours.title, n, "memory of each waiter", w.Heap, "B")
	watches := f.watchCount(ctx)
	var largest atomic.Int64
	f.a.proxy.Intercept(func(r proxy.Request) proxy.Verdict { // one at a time
		largest.Store(max(largest.Load(), int64(len(r.Body))))
		return proxy.Forward
	})
	p.ask(ctx, "back")
	before := seen(f.a.proxy.Counts())
	begin := peers.Now()
	f.a.proxy.Cut()
	proven := time.Duration(p.hear(ctx).At)
	all := f.watches(ctx, watches)
	f.a.proxy.Intercept(nil)
	cost := seen(f.a.proxy.Counts()).minus(before)
	f.note(res, reconnectCase, ours.title, n, "largest request", float64(largest.Load()), "B")
	f.note(res, reconnectCase, ours.title, n, "waiters", float64(waiters), "")
	f.note(res, reconnectCase, ours.title, n, "sessions proven again after", (proven - begin).Seconds(), "s")
	f.note(res, reconnectCase, ours.title, n, "all watches back after", (all - begin).Seconds(), "s")
	f.note(res, reconnectCase, ours.title, n, "requests", cost.requests, "")
	f.note(res, reconnectCase, ours.title, n, "bytes to the client", cost.bytes, "B")
	p.ask(ctx, "end")
}

// renewals counts what a process that holds n locks has the server do meanwhile.
func (f *field) renewals(ctx context.Context, n int, during time.Duration, res *result) {
	p := f.programs[library]
	a := p.ask(ctx, "hold", f.a.proxy.Addr(), "mutex", n, f.path())
	time.Sleep(during / 2) // the holders' watches are set
	before := seen(f.a.proxy.Counts())
	time.Sleep(during) // that is what is measured
	cost := seen(f.a.proxy.Counts()).minus(before).over(during.Seconds())
	f.note(res, renewCase, ours.title, n, "sessions", float64(a.Sessions), "")
	f.note(res, renewCase, ours.title, n, "requests", cost.requests, "/s")
	p.ask(ctx, "end")
}

// kill measures how long a lock is free to nobody whose holder is killed. The
// holders of all entrants die at the same time.
func (f *field) kill(ctx context.Context, times int, timeout time.Duration, res *result) {
	took := make(map[string][]float64)
	next := make(map[string]*program)
	var all []entrant
	for _, e := range locks {
		if e != theFloor && f.programs[e.program] != nil {
			all = append(all, e)
			next[e.title] = start(f.t, e.program, timeout)
		}
	}
	for range times {
		var holders []*program
		for _, e := range all {
			path := f.path()
			h := start(f.t, e.program, timeout)
			h.ask(ctx, "hold", f.a.addr(e.program), e.kind, 1, path)
			next[e.title].ask(ctx, "wait", f.a.addr(e.program), e.kind, path+"/000000")
			holders = append(holders, h)
		}
		time.Sleep(timeout / 4) // the last one queues too, and is idle
		killed := peers.Now()
		for _, h := range holders {
			require.NoError(f.t, h.w.Signal(syscall.SIGKILL))
		}
		for _, e := range all {
			d := time.Duration(next[e.title].hear(ctx).At) - killed
			took[e.title] = append(took[e.title], d.Seconds())
		}
	}
	for _, e := range all {
		f.note(res, killCase, e.title, int(timeout.Milliseconds()), "time", middle(took[e.title]), "s")
	}
}

// size is how much is measured.
type size struct {
	rounds, pairs, turns int
	contenders           []int
	joiners              int
	held                 []int // by all
	many, waiters        int   // by this library
	renewals             []int
	renewTime            time.Duration
	kills                int
	killTimeout          time.Duration
}

// compare runs all cases on one kind of storage, and calls keep with what there
// is from time to time.
func compare(ctx context.Context, t testing.TB, storage string, s size, res *result, keep func()) {
	f := newField(t, newArena(t, storage))
	res.Server = zookeeperVersion
	for _, c := range s.contests() {
		f.run(ctx, c, s.rounds, res)
		keep()
	}
	if storage == onDisk {
		return // what follows is about bytes and memory, not about disks
	}
	f.join(ctx, s.joiners, res)
	keep()
	for _, n := range s.held {
		for _, e := range locks {
			if e == theFloor || e.program == etcd {
				continue
			}
			f.hold(ctx, e, n, res)
		}
	}
	f.kill(ctx, s.kills, s.killTimeout, res)
	keep()
	f.reconnect(ctx, s.many, s.waiters, res)
	keep()
	for _, n := range s.renewals {
		f.renewals(ctx, n, s.renewTime, res)
	}
	keep()
}
