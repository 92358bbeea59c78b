package recipes

import (
	"time"
)

// Clock is the time that leases go by: how much has passed since some instant
// of its own. It must never go back, and must not be a wall clock, which can be
// set.
type Clock func() time.Duration

// MonotonicClock returns a clock by Go's monotonic time. It stands still while
// the machine is suspended, and follows virtual time in testing/synctest.
func MonotonicClock() Clock {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// SystemClock returns the default clock: the monotonic time or, on Linux, the
// time since boot with suspension counted in, whichever has advanced further.
func SystemClock() Clock {
	mono := MonotonicClock()
	start, ok := sinceBoot()
	if !ok {
		return mono
	}
	return func() time.Duration {
		now, _ := sinceBoot()
		return max(mono(), now-start)
	}
}
