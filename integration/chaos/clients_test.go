package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// workerFaults hit one worker, or what is between it and the servers. Several
// such lanes run side by side, on different workers.
func workerFaults(s *storm, n int) *lane {
	on := func(name string, strike func(*lane, *seat) (time.Duration, func() error, error)) kind {
		return kind{name, func(l *lane) (string, time.Duration, func() error, error) {
			victim := l.anySeat()
			if victim == nil {
				return "", 0, nil, nil
			}
			lasts, mend, err := strike(l, victim)
			return victim.String(), lasts, func() error {
				defer victim.fault.Unlock()
				return mend()
			}, err
		}}
	}
	flows := func(name string, from, to time.Duration, fault func(*lane, *proxy.Proxy)) kind {
		return on(name, func(l *lane, v *seat) (time.Duration, func() error, error) {
			v.each(func(p *proxy.Proxy) { fault(l, p) })
			return l.between(from, to), func() error { v.each((*proxy.Proxy).Pass); return nil }, nil
		})
	}
	cuts := func(name string, cut func(*proxy.Proxy, jute.Op, int) <-chan proxy.Request) kind {
		ops := []jute.Op{proxy.OpAny, jute.OpMulti, jute.OpCreate, jute.OpDelete, jute.OpGetData, jute.OpGetChildren2}
		return on(name, func(l *lane, v *seat) (time.Duration, func() error, error) {
			op, n := ops[l.r.IntN(len(ops))], 1+l.r.IntN(4)
			v.each(func(p *proxy.Proxy) { cut(p, op, n) })
			return l.between(T/8, T/2), func() error { v.each((*proxy.Proxy).ClearCuts); return nil }, nil
		})
	}
	return &lane{storm: s, name: fmt.Sprint("workers ", n), pause: T / 4, settled: func(context.Context) error { return nil }, kinds: []kind{
		on("worker killed", func(l *lane, v *seat) (time.Duration, func() error, error) {
			v.kill()
			return l.upTo(T / 2), func() error { v.start(l.r.Uint64()); return nil }, nil
		}),
		on("worker stopped for less than T", func(l *lane, v *seat) (time.Duration, func() error, error) {
			return l.between(T/20, T*3/4), v.Thaw, v.Freeze()
		}),
		on("worker stopped for longer than T", func(l *lane, v *seat) (time.Duration, func() error, error) {
			return l.between(T*5/4, T*5/2), v.Thaw, v.Freeze()
		}),
		on("worker's clock jumps", func(l *lane, v *seat) (time.Duration, func() error, error) {
			return 0, nothing, v.Send(fmt.Sprintf("jump %d", l.between(T/10, 2*T)))
		}),
		on("connection reset", func(_ *lane, v *seat) (time.Duration, func() error, error) {
			v.each((*proxy.Proxy).Cut)
			return 0, nothing, nil
		}),
		flows("network silent", T/8, 2*T, func(_ *lane, p *proxy.Proxy) { p.Blackhole() }),
		flows("requests stalled", T/8, 2*T, func(_ *lane, p *proxy.Proxy) { p.ToServer().Stall() }),
		flows("answers stalled", T/8, 2*T, func(_ *lane, p *proxy.Proxy) { p.ToClient().Stall() }),
		flows("answers lost", T/8, 2*T, func(_ *lane, p *proxy.Proxy) { p.ToClient().Blackhole() }),
		flows("network slow", T/4, T, func(l *lane, p *proxy.Proxy) { p.Delay(l.between(5*time.Millisecond, T/8)) }),
		on("network lossy", func(l *lane, v *seat) (time.Duration, func() error, error) {
			return l.between(T/2, 2*T), lossy(v, l.r.Uint64()), nil
		}),
		cuts("cut before a request", (*proxy.Proxy).CutBefore),
		cuts("cut before an answer", (*proxy.Proxy).CutAfter),
	}}
}

// retransmit is what TCP waits for at least before it sends a lost packet again.
const retransmit = 200 * time.Millisecond

// lossy has packets get lost, as seen from above TCP: now and then a stream waits
// for a retransmission, or for two or three of them in a row. It returns what
// ends that.
func lossy(v *seat, seed uint64) (mend func() error) {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i, p := range v.proxies {
		for j, flow := range []*proxy.Flow{p.ToServer(), p.ToClient()} {
			r := rand.New(rand.NewPCG(seed, uint64(2*i+j)))
			wg.Go(func() {
				for ctx.Err() == nil {
					sleep(ctx, time.Duration(r.Int64N(int64(T/4))))
					flow.Stall()
					sleep(ctx, retransmit<<r.IntN(3))
					flow.Pass()
				}
			})
		}
	}
	return func() error {
		stop()
		wg.Wait()
		return nil
	}
}

// anySeat takes a worker on which no fault is; nil if there is none.
func (l *lane) anySeat() *seat {
	for _, i := range l.r.Perm(len(l.seats)) {
		if l.seats[i].fault.TryLock() {
			return l.seats[i]
		}
	}
	return nil
}
