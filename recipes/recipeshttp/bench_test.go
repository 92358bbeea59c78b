package recipeshttp

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// What the page adds to a round of a lock that nobody else wants.
func BenchmarkRound(b *testing.B) {
	p := New()
	tr := p.Trace()
	ctx := b.Context()
	of := recipes.ContenderEvent{Lock: "/locks/report", Kind: recipes.KindMutex, Path: "/locks/report/_c_5d0dbea2-9af4-49bb-8203-5bcf6baecefa-lock-0000000000", Session: 1}
	lease := recipes.LeaseEvent{Path: "/locks/report", Token: 7, Session: 1}
	b.ReportAllocs()
	for call := uint64(1); b.Loop(); call++ {
		of.Call = call
		tr.AcquireStart(ctx, recipes.AcquireEvent{Call: call, Path: "/locks/report", Kind: recipes.KindMutex})
		tr.Enqueued(of)
		tr.Granted(lease)
		tr.AcquireDone(ctx, recipes.AcquireEvent{Call: call, Path: "/locks/report", Kind: recipes.KindMutex})
		tr.CleanedUp(recipes.CleanupEvent{Path: of.Path, Session: 1})
		tr.Released(lease)
	}
}
