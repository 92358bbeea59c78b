package recipetest

import (
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Ledger checks that the leases of one lock do not overlap unless all are shared,
// each by its holder's own clock, and that tokens grow: that who was in the queue
// first was served first.
type Ledger struct {
	T      testing.TB
	Steals bool // strangers delete znodes and end sessions: those concerned learn it a little later
	Strict bool // no lease is given before its proof

	mu     sync.Mutex
	leases []grant
	soon   map[*recipes.Lease]bool // those about to be shared, whatever they say of themselves
	early  int
}

type grant struct {
	*recipes.Lease
	at     time.Time
	token  fence.Token
	shared bool // when it was granted
}

// unproven reports whether a lease promised no more than a first grant does
// before its proof, an eighth of the session timeout.
func (g grant) unproven(now time.Time, left time.Duration) bool {
	return now.Sub(g.at)+left <= g.Session().Timeout()/8
}

// Add takes in a lease as soon as it is granted, and before it is given back.
func (g *Ledger) Add(l *recipes.Lease) { g.AddMember(l, l.Token()) }

// AddMember is Add for the lease of a multi-lock, by the token of the member that
// is looked at.
func (g *Ledger) AddMember(l *recipes.Lease, token fence.Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if l.Err() != nil { // others may have been granted and taken in since
		return
	}
	for _, old := range g.leases {
		left := old.Remaining()
		switch {
		case left == 0 || g.Steals || l.Shared() && (old.Shared() || g.soon[old.Lease]):
		case !g.Strict && old.unproven(now, left):
			g.early++
		default:
			g.T.Errorf("%v: lease %v of session %#x granted while %v of session %#x, %v old, holds for %v",
				now, l.Token(), l.Session().ID(), old.Token(), old.Session().ID(), now.Sub(old.at), left)
		}
		if old.token >= token && !g.Steals && !(old.shared && l.Shared()) {
			g.T.Errorf("token %v after %v", token, old.token)
		}
	}
	g.leases = append(g.leases, grant{l, now, token, l.Shared()})
}

// Sharing takes in that a lease is about to be downgraded.
func (g *Ledger) Sharing(l *recipes.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.soon == nil {
		g.soon = make(map[*recipes.Lease]bool)
	}
	g.soon[l] = true
}

// Grants returns how many leases there were.
func (g *Ledger) Grants() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.leases)
}

// Early returns how many leases were granted while another one was in the time
// before its proof, which no lease promises more for.
func (g *Ledger) Early() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.early
}

// Permits checks that no more of them are held than there are, each by its
// holder's own clock.
type Permits struct {
	T      testing.TB
	Limit  int
	Steals bool // strangers delete permits and end sessions

	mu   sync.Mutex
	held []permit
}

type permit struct {
	grant
	n int
}

// Add takes in n permits as soon as they are granted. Those that were not proven
// yet do not count.
func (p *Permits) Add(l *recipes.Lease, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if l.Err() != nil {
		return
	}
	sum := n
	for _, old := range p.held {
		if left := old.Remaining(); left > 0 && !old.unproven(now, left) {
			sum += old.n
		}
	}
	if sum > p.Limit && !p.Steals {
		p.T.Errorf("%v: %d permits held, of %d", now, sum, p.Limit)
	}
	p.held = append(p.held, permit{grant{l, now, l.Token(), true}, n})
}

// Grants returns how many leases there were.
func (p *Permits) Grants() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held)
}
