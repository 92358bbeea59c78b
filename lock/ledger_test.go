package lock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// ledger checks that the leases of one lock do not overlap, each by its holder's
// own clock, and that tokens grow.
type ledger struct {
	t      testing.TB
	steals bool // strangers delete znodes and end sessions: those concerned learn it a little later
	strict bool // no lease is given before its proof

	mu     sync.Mutex
	leases []granting
	early  int // overlaps in the unproven time of a first grant
}

type granting struct {
	*recipes.Lease
	at time.Time
}

// add takes in a lease at the instant of its grant.
func (g *ledger) add(l *recipes.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for _, old := range g.leases {
		left := old.Remaining()
		switch {
		case left == 0 || g.steals:
		case !g.strict && now.Sub(old.at)+left <= T/8:
			// What a first grant is before its proof, and no lease promises more.
			g.early++
		default:
			g.t.Errorf("%v: lease %v of session %#x granted while %v of session %#x, %v old, holds for %v",
				now, l.Token(), l.Session().ID(), old.Token(), old.Session().ID(), now.Sub(old.at), left)
		}
		if old.Token() >= l.Token() && !g.steals {
			g.t.Errorf("token %v after %v", l.Token(), old.Token())
		}
	}
	g.leases = append(g.leases, granting{l, now})
}

// grants returns how many leases there were.
func (g *ledger) grants() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.leases)
}
