package fence_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zkrecipes/zkrecipes/fence"
)

// The cost of the guard: against a mutex, which a guarded write does without.
func BenchmarkWrite(b *testing.B) {
	ctx := context.Background()
	b.Run("unguarded", func(b *testing.B) {
		var mu sync.Mutex
		n := 0
		for b.Loop() {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	b.Run("memory", func(b *testing.B) {
		m := fence.NewMemory("n")
		n := 0
		for b.Loop() {
			if err := m.Write(ctx, fence.Stamp{Token: 34}, func(context.Context) error { n++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
