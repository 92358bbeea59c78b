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
	steals bool // an operator may take the lock away, which holders learn a little later

	mu     sync.Mutex
	leases []*recipes.Lease
}

// add takes in a lease at the instant of its grant.
func (g *ledger) add(l *recipes.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, old := range g.leases {
		if left := old.Remaining(); left > 0 && !g.steals {
			g.t.Errorf("%v: lease %v of session %#x granted while %v of session %#x holds for %v",
				time.Now(), l.Token(), l.Session().ID(), old.Token(), old.Session().ID(), left)
		}
		if old.Token() >= l.Token() {
			g.t.Errorf("token %v after %v", l.Token(), old.Token())
		}
	}
	g.leases = append(g.leases, l)
}

// grants returns how many leases there were.
func (g *ledger) grants() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.leases)
}
