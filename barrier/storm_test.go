package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// More than n go in and out in a loop, so that there is always somebody who comes
// while others leave. Nobody gets through alone, and nobody is left waiting.

const together = 3

// storm is a number of participants, and what they went through.
type storm struct {
	t       *testing.T
	srv     *zktest.Server
	loopers []*looper
	instant atomic.Int64 // grows with each thing that happens, which time does not
}

// looper goes in and out.
type looper struct {
	*participant
	s      *storm
	r      *rand.Rand
	struck atomic.Int64 // instant of the last fault
	stays  []history.Stay

	mu    sync.Mutex
	doing string // "" between the calls
	since time.Time
}

// weather is what goes wrong in a storm. No call may take longer than patience.
type weather struct {
	name     string
	patience time.Duration
	blow     func(*looper)
}

var weathers = []weather{
	{"calm", T / 20, nil},
	{"cuts", 2 * time.Second, func(l *looper) { l.cable.Cut() }},
	{"expiries", 2 * time.Second, func(l *looper) { l.expire() }},
}

func TestMoreThanSoManyInALoop(t *testing.T) {
	lasts := 3 * time.Second
	if zkrtest.Full {
		lasts = time.Minute
	}
	for _, w := range weathers {
		zkrtest.Storms(t, w.name, 2, 40, func(t *testing.T, seed uint64) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				(&storm{t: t, srv: srv}).rage(seed, w, lasts)
			})
		})
	}
}

func (s *storm) rage(seed uint64, w weather, lasts time.Duration) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range uint64(2 * together) {
		l := &looper{participant: take(s.t, s.srv, together), s: s, r: rand.New(rand.NewPCG(seed, i+1))}
		s.loopers = append(s.loopers, l)
	}
	// Who waits for the next round when the storm is over gives up. The others get
	// out, for which all is bounded.
	storm, over := context.WithCancel(s.t.Context())
	bound, giveUp := context.WithTimeout(s.t.Context(), lasts+2*w.patience)
	defer giveUp()
	var loops sync.WaitGroup
	for _, l := range s.loopers {
		loops.Go(func() { l.loop(storm, bound, w.patience) })
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		time.Sleep(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
		if w.blow != nil {
			w.blow(s.loopers[r.IntN(len(s.loopers))])
		}
	}
	for _, l := range s.loopers {
		l.complain(w.patience)
	}
	over()
	loops.Wait()
	time.Sleep(2 * T)
	require.Subset(s.t, []string{"ready"}, children(s.srv))
	s.judge(w, lasts)
}

// judge applies the rules by which real storms are judged, too.
func (s *storm) judge(w weather, lasts time.Duration) {
	var stays []history.Stay
	for _, l := range s.loopers {
		stays = append(stays, l.stays...)
	}
	for _, v := range history.ThroughAlone(stays) {
		s.t.Error(v)
	}
	s.t.Logf("%s: %d of %d at a time: %d stays", w.name, len(s.loopers), together, len(stays))
	require.Greater(s.t, len(stays), int(lasts/time.Second)*len(s.loopers))
}

// now is an instant of its own: nothing else happens in it.
func (s *storm) now() time.Duration { return time.Duration(s.instant.Add(1)) }

func (l *looper) loop(storm, bound context.Context, patience time.Duration) {
	for i := 0; storm.Err() == nil; i++ {
		stay := history.Stay{Path: path, Who: fmt.Sprintf("%p %d", l, i), N: together, Asked: l.s.now()}
		err := l.call("enter", patience, func() error { return l.Enter(storm) })
		if err != nil {
			stay.Died, stay.Gone = l.s.now(), l.s.now()
			l.stays = append(l.stays, stay)
			if !errors.Is(err, context.Canceled) {
				l.t.Errorf("enter: %v", err)
			}
			continue
		}
		stay.Entered = l.s.now()
		time.Sleep(l.upTo(6 * time.Millisecond))
		stay.Leaving = l.s.now()
		err = l.call("leave", patience, func() error { return l.Leave(bound) })
		switch {
		case err == nil:
			stay.Left = l.s.now()
		case l.struck.Load() > 0 && errors.Is(err, recipes.ErrLost):
			stay.Died = time.Duration(l.struck.Load())
		default:
			l.t.Errorf("leave: %v", err)
		}
		l.stays = append(l.stays, stay)
	}
}

// call makes a call, and complains when it took too long.
func (l *looper) call(name string, patience time.Duration, call func() error) error {
	l.at(name)
	l.cable.SetLatency(1 + l.upTo(3*time.Millisecond))
	err := call()
	l.complain(patience)
	l.at("")
	return err
}

func (l *looper) upTo(d time.Duration) time.Duration { return time.Duration(l.r.Int64N(int64(d))) }

func (l *looper) at(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doing, l.since = call, time.Now()
}

func (l *looper) complain(patience time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took := time.Since(l.since); l.doing != "" && took > patience {
		l.t.Errorf("%s for %v; in the barrier: %v", l.doing, took, l.s.srv.Children(path))
	}
}

// expire ends the participant's session, if it has one.
func (l *looper) expire() {
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Millisecond)
	defer cancel()
	if session, err := l.c.Session(ctx); err == nil {
		l.struck.Store(int64(l.s.now()))
		l.s.srv.ExpireSession(session.ID())
	}
}
