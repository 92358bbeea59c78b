package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/chaos/timeline"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
)

// kind is a kind of fault.
type kind struct {
	name string
	// strike begins one. It returns what it hit, "" if it found nothing to hit,
	// and how long it is to last; mend ends it.
	strike func(*lane) (target string, lasts time.Duration, mend func() error, err error)
}

// lane strikes one fault after another, each kind as often as every other.
type lane struct {
	*storm
	name  string
	kinds []kind
	pause time.Duration // between two faults, at most
	// settled returns when the next fault may strike.
	settled func(context.Context) error

	r    *rand.Rand
	deck []kind
}

// nemesis is what all lanes have done.
type nemesis struct {
	mu  sync.Mutex
	log []timeline.Fault
}

func (n *nemesis) note(f timeline.Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, f)
}

func (n *nemesis) faults() []timeline.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]timeline.Fault(nil), n.log...)
}

// run strikes until ctx ends. The last fault is mended before it returns.
func (l *lane) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.one(ctx); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		sleep(ctx, l.upTo(l.pause))
	}
	return nil
}

func (l *lane) one(ctx context.Context) error {
	k := l.draw()
	f := timeline.Fault{Lane: l.name, Kind: k.name, From: belief.Now()}
	target, lasts, mend, err := k.strike(l)
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	if target != "" {
		sleep(ctx, lasts)
		if err := mend(); err != nil {
			return fmt.Errorf("%s: mend %s: %w", k.name, target, err)
		}
		f.Target, f.To = target, belief.Now()
		l.note(f)
	}
	// Not ctx: what was struck last is mended, too.
	wait, cancel := context.WithTimeoutCause(context.Background(), settleTimeout, errLate)
	defer cancel()
	return l.settled(wait)
}

// draw deals a shuffled deck of all kinds, and then another one.
func (l *lane) draw() kind {
	if len(l.deck) == 0 {
		l.deck = append(l.deck, l.kinds...)
		l.r.Shuffle(len(l.deck), func(i, j int) { l.deck[i], l.deck[j] = l.deck[j], l.deck[i] })
	}
	k := l.deck[0]
	l.deck = l.deck[1:]
	return k
}

// between returns a time from a to b.
func (l *lane) between(a, b time.Duration) time.Duration { return a + l.upTo(b-a) }

func (l *lane) upTo(d time.Duration) time.Duration { return time.Duration(l.r.Int64N(int64(d) + 1)) }

// sleep is how long a fault is on; there is nothing to wait for but the end of
// the storm.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func nothing() error { return nil }
