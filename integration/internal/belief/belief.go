// Package belief records when holders believe that they hold a lock, on a clock
// that all processes of a machine share, so that a test can tell whether two of
// them ever believed it at once.
package belief

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Now reads CLOCK_MONOTONIC: the same for every process of the machine, and
// never set. time.Time has it too, but keeps it from other processes.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("belief: clock_gettime: %v", err))
	}
	return time.Duration(ts.Nano())
}

// Interval is the time during which a holder believed in one lease.
type Interval struct {
	Token fence.Token
	Node  string
	From  time.Duration // the grant
	To    time.Duration // the last look that found it held
	Until time.Duration // the latest instant up to which a look promised it
	Ended bool          // a look has found it over
	Err   string        // why, at that look
}

// Observer looks at a lease again and again, as a holder does between two steps
// of its work.
type Observer struct {
	lease *recipes.Lease
	stop  chan struct{}
	done  chan struct{}

	mu sync.Mutex
	iv Interval
}

// interval is between two looks. There is no event to wait for: what a look
// says between events is what is observed.
const interval = time.Millisecond

// Observe begins to look at a lease that was granted at from, until it is over.
// Stop must be called.
func Observe(l *recipes.Lease, from time.Duration) *Observer {
	o := &Observer{
		lease: l,
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
		iv:    Interval{Token: l.Token(), Node: l.Node(), From: from, To: from},
	}
	go o.run()
	return o
}

func (o *Observer) run() {
	defer close(o.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !o.look() {
		select {
		case <-tick.C:
		case <-o.stop:
			return
		}
	}
}

// look returns true when the lease is over. The instant is taken before the
// look: what a paused process finds out after it is not older than that.
func (o *Observer) look() bool {
	now := Now()
	left := o.lease.Remaining()
	o.mu.Lock()
	defer o.mu.Unlock()
	if left > 0 {
		o.iv.To = now
		o.iv.Until = max(o.iv.Until, now+left)
		return false
	}
	o.iv.Ended = true
	if err := o.lease.Err(); err != nil {
		o.iv.Err = err.Error()
	}
	return true
}

// Done is closed when a look has found the lease over, or Stop was called.
func (o *Observer) Done() <-chan struct{} { return o.done }

// Interval returns what was seen so far.
func (o *Observer) Interval() Interval {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.iv
}

// Stop ends the looking. A second call does nothing.
func (o *Observer) Stop() {
	select {
	case <-o.stop:
	default:
		close(o.stop)
	}
	<-o.done
}
