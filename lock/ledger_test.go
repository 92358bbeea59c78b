package lock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// ledger checks that the leases of one lock do not overlap unless all are shared,
// each by its holder's own clock, and that tokens grow.
type ledger struct {
	t      testing.TB
	steals bool // strangers delete znodes and end sessions: those concerned learn it a little later
	strict bool // no lease is given before its proof

	mu     sync.Mutex
	leases []granting
	soon   map[*recipes.Lease]bool // those about to be shared, whatever they say of themselves
	early  int                     // overlaps in the unproven time of a first grant
}

type granting struct {
	*recipes.Lease
	at     time.Time
	token  fence.Token
	shared bool // at its grant
}

// add takes in a lease at the instant of its grant.
func (g *ledger) add(l *recipes.Lease) { g.addMember(l, l.Token()) }

// addMember is add for the lease of a multi-lock, by the token of the member that
// is looked at.
func (g *ledger) addMember(l *recipes.Lease, token fence.Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for _, old := range g.leases {
		left := old.Remaining()
		switch {
		case left == 0 || g.steals || l.Shared() && (old.Shared() || g.soon[old.Lease]):
		case !g.strict && now.Sub(old.at)+left <= T/8:
			// What a first grant is before its proof, and no lease promises more.
			g.early++
		default:
			g.t.Errorf("%v: lease %v of session %#x granted while %v of session %#x, %v old, holds for %v",
				now, l.Token(), l.Session().ID(), old.Token(), old.Session().ID(), now.Sub(old.at), left)
		}
		if old.token >= token && !g.steals && !(old.shared && l.Shared()) {
			g.t.Errorf("token %v after %v", token, old.token)
		}
	}
	g.leases = append(g.leases, granting{l, now, token, l.Shared()})
}

// sharing takes in that a lease is about to be downgraded.
func (g *ledger) sharing(l *recipes.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.soon == nil {
		g.soon = make(map[*recipes.Lease]bool)
	}
	g.soon[l] = true
}

// grants returns how many leases there were.
func (g *ledger) grants() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.leases)
}
