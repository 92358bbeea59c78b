package bench

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// entrant is a program with one of its recipes.
type entrant struct {
	title   string
	program string
	kind    string
}

const ownFloorTitle = "create + delete on a session of zkrecipes"

// Entrants, in the order in which they take turns. The floor is what the others
// are divided by.
var (
	theFloor = entrant{"floor", floor, "mutex"}
	ours     = entrant{"zkrecipes Mutex", library, "mutex"}
	ourTerm  = entrant{"zkrecipes Election", library, "election"}

	locks = []entrant{
		theFloor, ours,
		{"go-zookeeper Lock", goLock, "mutex"},
		{"Curator InterProcessMutex", curator, "mutex"},
		{"kazoo Lock", kazoo, "mutex"},
		{"etcd Mutex", etcd, "mutex"},
	}
	elections = []entrant{
		ourTerm,
		{"Curator LeaderLatch", curator, "election"},
		{"kazoo Election", kazoo, "election"},
		{"etcd Election", etcd, "election"},
	}
	// kazoo's before 2.9 are not among them: its readers wait for writers that
	// came later, who wait for them (kazoo#650).
	readersAndWriters = []entrant{
		{"zkrecipes RWMutex", library, "rw"},
		{"Curator InterProcessReadWriteLock", curator, "rw"},
	}
	semaphores = []entrant{
		{"zkrecipes Semaphore", library, "semaphore"},
		{"Curator InterProcessSemaphoreV2", curator, "semaphore"},
		{"kazoo Semaphore", kazoo, "semaphore"},
	}
)

// Cases that are run in rounds.
const (
	idleCase   = "acquire + release, nobody else there"
	tryCase    = "try what somebody holds"
	handCase   = "hand-over"
	resignCase = "resign, the next one leads"
	rwCase     = "hand-over, writers and readers in turn"
	semCase    = "hand-over, one permit"
)

// contest is a case that entrants go through in turns.
type contest struct {
	name       string
	contenders int
	entrants   []entrant
	ops        int
	words      func(addr, kind string, ops int, path string) []any
}

func (s size) contests() []contest {
	pair := func(addr, kind string, ops int, path string) []any { return []any{"pair", addr, kind, ops, path} }
	try := func(addr, kind string, ops int, path string) []any { return []any{"try", addr, kind, ops, path} }
	among := func(n int) func(addr, kind string, ops int, path string) []any {
		return func(addr, kind string, ops int, path string) []any {
			return []any{"handover", addr, kind, n, ops, path}
		}
	}
	idle := append([]entrant{}, locks...)
	idle = append(idle, entrant{ownFloorTitle, ownFloor, "mutex"})
	idle = append(idle, elections...)
	tries := append([]entrant{}, locks[:2]...) // go-zookeeper's Lock cannot be tried
	tries = append(tries, locks[3:]...)
	all := []contest{{idleCase, 0, idle, s.pairs, pair}, {tryCase, 0, tries, s.pairs, try}}
	hand := func(n int) contest { return contest{handCase, n, locks, s.turns, among(n)} }
	last := len(s.contenders) - 1 // takes longest, so it comes last
	for _, n := range s.contenders[:last] {
		all = append(all, hand(n))
	}
	few, some := s.contenders[0], s.contenders[min(1, last)]
	return append(all,
		contest{resignCase, few, append([]entrant{theFloor, ours}, elections...), s.turns, among(few)},
		contest{rwCase, some, append([]entrant{theFloor}, readersAndWriters...), s.turns, among(some)},
		contest{semCase, some, append([]entrant{theFloor}, semaphores...), s.turns, among(some)},
		hand(s.contenders[last]),
	)
}

// series is what the rounds of one entrant have given.
type series struct {
	p50                              []int64
	rate, allocs, allocBytes, memory []float64
}

func (s *series) add(a answer) {
	s.p50 = append(s.p50, a.P50)
	if a.Took > 0 {
		s.rate = append(s.rate, float64(a.Ops)/time.Duration(a.Took).Seconds())
	}
	s.allocs = append(s.allocs, a.Allocs)
	s.allocBytes = append(s.allocBytes, a.AllocBytes)
	s.memory = append(s.memory, a.Heap)
}

// field is the programs that take part at one arena.
type field struct {
	t        testing.TB
	a        *arena
	programs map[string]*program
	paths    int
}

func newField(t testing.TB, a *arena) *field {
	f := &field{t: t, a: a, programs: make(map[string]*program)}
	for _, name := range []string{floor, library, ownFloor, goLock, curator, kazoo, etcd} {
		if name != etcd || a.etcd != nil {
			f.programs[name] = start(t, name, sessionTimeout)
		}
	}
	return f
}

// path is a new one.
func (f *field) path() string {
	f.paths++
	return fmt.Sprintf("/bench%04d", f.paths)
}

// run has the entrants go through a case, round by round, so that whatever else
// the machine does hits all alike. The first round warms up.
func (f *field) run(ctx context.Context, c contest, rounds int, res *result) {
	f.t.Helper()
	all := make(map[string]*series)
	for round := -1; round < rounds; round++ {
		for _, e := range c.entrants {
			p := f.programs[e.program]
			if p == nil {
				continue
			}
			a := p.ask(ctx, c.words(f.a.addr(e.program), e.kind, c.ops, f.path())...)
			if round < 0 {
				all[e.title] = &series{}
				continue
			}
			all[e.title].add(a)
		}
	}
	for _, e := range c.entrants {
		s := all[e.title]
		if s == nil {
			continue
		}
		w := s.row()
		w.Storage, w.Case, w.Contenders, w.Entrant = f.a.storage, c.name, c.contenders, e.title
		cost := f.cost(ctx, c, e)
		w.Requests, w.Events, w.Bytes = cost.requests, cost.events, cost.bytes
		res.Rows = append(res.Rows, w)
		f.t.Logf("%s, %s, %d: %-40s %8v  %5.2f requests  %7.0f bytes", w.Storage, w.Case, w.Contenders, w.Entrant, short(w.P50), w.Requests, w.Bytes)
	}
}

func (s *series) row() row {
	w := row{
		P50:    time.Duration(middle(s.p50)),
		Allocs: middle(s.allocs), AllocBytes: middle(s.allocBytes), Memory: middle(s.memory),
	}
	w.Low, w.High = time.Duration(s.p50[0]), time.Duration(s.p50[0])
	for _, d := range s.p50 {
		w.Low, w.High = min(w.Low, time.Duration(d)), max(w.High, time.Duration(d))
	}
	if len(s.rate) > 0 {
		w.Rate = middle(s.rate)
	}
	return w
}

// cost counts what one operation has the server do: the difference of two runs
// that differ in nothing but their number.
func (f *field) cost(ctx context.Context, c contest, e entrant) counts {
	f.t.Helper()
	p := f.programs[e.program]
	run := func(ops int) counts {
		return f.a.count(ctx, f.t, e.program, func() {
			p.ask(ctx, c.words(f.a.countedAddr(e.program), e.kind, ops, f.path())...)
		})
	}
	few, many := run(c.ops), run(3*c.ops)
	return many.minus(few).over(float64(2 * c.ops))
}
