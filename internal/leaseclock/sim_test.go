package leaseclock_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// simulations is how many worlds a test goes through.
func simulations(small int) int {
	if os.Getenv("ZKR_STORM") == "full" {
		return 50 * small
	}
	return small
}

// seed is the first world's; a failure names its own.
const seed = 1

func TestNoDeadlineOutlivesTheSession(t *testing.T) {
	for name, know := range map[string]func(*world) time.Duration{
		"tick known":   func(w *world) time.Duration { return w.tick },
		"tick unknown": func(*world) time.Duration { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			made := 0
			for i := range simulations(150) {
				w := newWorld(seed+uint64(i), false)
				var r chainRule
				c := newClient(w, know(w), &r)
				for range 90 {
					w.runUntil(w.now + second)
					if until, ok := c.chain.Until(c.grant, w.now); c.granted && ok && c.chain.IsProven(c.grant, w.now) {
						require.LessOrEqual(t, until, w.end(), "seed %d", seed+i)
					}
				}
				require.Zero(t, r.wrong, "seed %d: by %v", seed+i, r.worst)
				made += r.made
			}
			require.Greater(t, made, 20*simulations(150))
		})
	}
}

// If this fails the simulation is too kind to show anything.
func TestSimplerRulesOutliveTheSession(t *testing.T) {
	rules := map[string]func() (rule, *claims){
		"from the last write":      func() (rule, *claims) { r := &lastWrite{}; return r, &r.claims },
		"from a resumed handshake": func() (rule, *claims) { r := &bareHandshake{}; return r, &r.claims },
		"pair of writes, no gap":   func() (rule, *claims) { r := &pairs{gap: func(*world) time.Duration { return 0 }}; return r, &r.claims },
		"pair of writes, half tick": func() (rule, *claims) {
			r := &pairs{gap: func(w *world) time.Duration { return w.tick / 2 }}
			return r, &r.claims
		},
	}
	for name, build := range rules {
		t.Run(name, func(t *testing.T) {
			wrong, made, worst := 0, 0, time.Duration(0)
			for i := range simulations(100) {
				w := newWorld(seed+uint64(i), false)
				r, c := build()
				newClient(w, w.tick, r)
				w.runUntil(90 * second)
				wrong, made, worst = wrong+c.wrong, made+c.made, max(worst, c.worst)
			}
			t.Logf("wrong %d of %d times, by up to %v", wrong, made, worst)
			require.NotZero(t, wrong)
		})
	}
}

func TestHealthyLeaseIsNeverLostAndKeepsItsFloor(t *testing.T) {
	for name, know := range map[string]func(*world) time.Duration{
		"tick known":   func(w *world) time.Duration { return w.tick },
		"tick unknown": func(*world) time.Duration { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			for i := range simulations(20) {
				w := newWorld(seed+uint64(i), true)
				c := newClient(w, know(w), &chainRule{})
				w.runUntil(20 * second)
				for !c.granted {
					w.runUntil(w.now + second)
				}
				w.runUntil(w.now + 2*w.timeout)
				least := w.timeout
				for range 5_000 {
					w.runUntil(w.now + 20*milli)
					until, ok := c.chain.Until(c.grant, w.now)
					require.True(t, ok, "lost, seed %d", seed+i)
					least = min(least, until-w.now)
				}
				const roundTrip = 25 * milli // of a renewal, with what it waits for
				require.GreaterOrEqual(t, least, c.chain.Rhythm().Floor()-roundTrip, "seed %d, tick %v", seed+i, w.tick)
			}
		})
	}
}

// A lease on one write rests on no proof: what its time may be depends on how
// long the leader's messages can be held up before the write is sent. A quarter
// of the timeout is too much for a stall that a client lives through.
func TestUnprovenTimeOfAQuarterOutlivesTheSession(t *testing.T) {
	wrong := map[time.Duration]int{}
	for i := range simulations(400) {
		for _, share := range []time.Duration{4, 8} {
			w := newWorld(seed+uint64(i), true)
			w.idle = true
			from := w.between(second, 3*second)
			until := from + w.between(w.timeout/3, 6*w.timeout/10)
			for _, f := range w.followers {
				f.down.stalls = [][2]instant{{from, until}}
				f.up.cut = until
			}
			r := &unproven{share: share}
			newClientAt(w, w.tick, w.between(from, until), r)
			w.runUntil(20 * second)
			wrong[share] += r.wrong
		}
	}
	t.Logf("a quarter: wrong %d times, an eighth: %d times", wrong[4], wrong[8])
	require.NotZero(t, wrong[4])
	require.Less(t, wrong[8], wrong[4])
}
