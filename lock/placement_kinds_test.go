package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// The lives of locks of other kinds than Mutex.

func reading(p *party) asking { return rwMutex(p.t, p.c).RLock }
func writing(p *party) asking { return rwMutex(p.t, p.c).Lock }

// warmed lets the party know the directory before the life begins.
func warmed(how func(*party) asking, then ...func(*placement)) func(*placement) {
	return func(p *placement) {
		for range 2 {
			release(p.t, granted(p.t, async(p.t, how(p.a)), time.Second))
		}
		for _, do := range then {
			do(p)
		}
	}
}

func occupiedBy(how func(*party) asking) func(*placement) {
	return func(p *placement) { p.occupyBy(how) }
}

// asks is a life's ask by one of the ways to ask.
func asks(how func(*party) asking) func(*placement) (*recipes.Lease, error) {
	return func(p *placement) (*recipes.Lease, error) { return how(p.a)(p.ctx) }
}

// downgrade writes first, and reads from then on.
func downgrade(p *placement) (*recipes.Lease, error) {
	rw := rwMutex(p.t, p.a.c)
	l, err := rw.Lock(p.ctx)
	if err != nil {
		return nil, err
	}
	time.Sleep(T / 10) // the next one is in the queue by now
	err = rw.Downgrade(p.ctx, l)
	if err == nil {
		return l, nil
	}
	released := l.Release(context.Background())
	if released != nil && !errors.Is(released, recipes.ErrLost) {
		p.t.Errorf("release: %v", released)
	}
	if errors.Is(err, recipes.ErrLost) {
		return nil, lock.ErrLocked // too late, which is no fault of the call's
	}
	return nil, err
}

var readWriteLives = []life{
	{name: "free for reading, no directory", prepare: func(*placement) {}, ask: asks(reading), next: writing, small: 2},
	{name: "reading behind a writer", prepare: warmed(reading, occupiedBy(writing)), ask: asks(reading), next: writing, small: 4},
	{name: "writing behind readers", prepare: warmed(writing, occupiedBy(reading), occupiedBy(reading)), ask: asks(writing), next: reading, small: 3},
	{name: "downgraded before a writer", prepare: warmed(writing), ask: downgrade, next: writing, small: 3},
	{name: "downgraded before a reader", prepare: warmed(writing), ask: downgrade, next: reading},
	{name: "trying to read", prepare: warmed(reading), next: writing, small: 1, ask: func(p *placement) (*recipes.Lease, error) {
		return rwMutex(p.t, p.a.c).TryRLock(p.ctx)
	}},
	{name: "trying to write", prepare: warmed(writing), next: reading, ask: func(p *placement) (*recipes.Lease, error) {
		return rwMutex(p.t, p.a.c).TryLock(p.ctx)
	}},
}

func TestEveryFaultAtEveryRequestOfReadersAndWriters(t *testing.T) { strikeAll(t, readWriteLives) }

const limit = 3

// acquiring asks for n permits of the semaphore.
func acquiring(n int) func(*party) asking {
	return func(p *party) asking { return acquireN(semaphore(p.t, p.c, limit), n) }
}

// counted has grants counted as permits.
func counted(n int, prepare func(*placement)) func(*placement) {
	return func(p *placement) {
		count := recipetest.Permits{T: p.t, Limit: limit, Steals: p.leases.Steals}
		p.note = func(l *recipes.Lease) { count.Add(l, n) }
		prepare(p)
	}
}

var semaphoreLives = []life{
	{name: "free permits, no directory", prepare: counted(2, func(*placement) {}), ask: asks(acquiring(2)), next: acquiring(2), small: 2},
	{name: "free permits", prepare: counted(2, warmed(acquiring(2))), ask: asks(acquiring(2)), next: acquiring(2), small: 3},
	{name: "no room", prepare: counted(2, warmed(acquiring(2), occupiedBy(acquiring(2)))), ask: asks(acquiring(2)), next: acquiring(2), small: 5},
	{name: "no room, and others before", prepare: counted(2, warmed(acquiring(2), occupiedBy(acquiring(2)), occupiedBy(acquiring(2)))), ask: asks(acquiring(2)), next: acquiring(2)},
	{name: "trying for permits", prepare: counted(2, warmed(acquiring(2))), next: acquiring(2), small: 2, ask: func(p *placement) (*recipes.Lease, error) {
		return semaphore(p.t, p.a.c, limit).TryAcquireN(p.ctx, 2)
	}},
}

func TestEveryFaultAtEveryRequestOfASemaphore(t *testing.T) { strikeAll(t, semaphoreLives) }

var members = []string{"/locks/a", "/locks/b", "/locks/c"}

func together3(p *party) asking { return multi(p.t, p.c, members...).Lock }
func middle(p *party) asking    { return mutexAt(p.t, p.c, members[1]).Lock }

// inMiddle has grants compared by what they say of the member in the middle.
func inMiddle(prepare func(*placement)) func(*placement) {
	return func(p *placement) {
		p.note = func(l *recipes.Lease) {
			token := l.TokenOf(members[1])
			require.NotZero(p.t, token)
			p.leases.AddMember(l, token)
		}
		prepare(p)
	}
}

var multiLives = []life{
	{name: "free members, no directories", prepare: inMiddle(func(*placement) {}), ask: asks(together3), next: middle, small: 2},
	{name: "free members", prepare: inMiddle(warmed(together3)), ask: asks(together3), next: middle, small: 2},
	{name: "one member held", prepare: inMiddle(warmed(together3, occupiedBy(middle))), ask: asks(together3), next: together3, small: 6},
	{name: "all members held", prepare: inMiddle(warmed(together3, occupiedBy(together3))), ask: asks(together3), next: middle},
	{name: "trying for all members", prepare: inMiddle(warmed(together3)), next: together3, small: 1, ask: func(p *placement) (*recipes.Lease, error) {
		return multi(p.t, p.a.c, members...).TryLock(p.ctx)
	}},
}

func TestEveryFaultAtEveryRequestOfAMultiLock(t *testing.T) { strikeAll(t, multiLives) }
