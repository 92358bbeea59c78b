// Package backoff spaces attempts at something that fails.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a growing pause: a quarter of a second, doubling up to 15 seconds,
// each time somewhere in the upper half, so that those who failed together do
// not come back together. The zero value is ready to use.
type Backoff struct{ n int }

// Reset makes the next pause the shortest again.
func (b *Backoff) Reset() { b.n = 0 }

// Wait pauses; false means that ctx has ended.
func (b *Backoff) Wait(ctx context.Context) bool {
	d := 15 * time.Second
	if b.n < 6 {
		d = 250 * time.Millisecond << b.n
		b.n++
	}
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
