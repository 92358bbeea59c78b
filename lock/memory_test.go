package lock_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What is kept of a contender is its path and 4 KiB of identity at most, however
// much somebody has put there.
func TestQueueAndCandidatesKeepLittleOfManyContendersWithMuchData(t *testing.T) {
	const (
		many  = 5000
		large = 32 // of these carry 1 MiB
		most  = 8 << 20
	)
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/lock", "/election"} {
			require.NoError(t, srv.Create(path, nil))
		}
		data := []byte(strings.Repeat("x", 1<<20-1000))
		for i := range many {
			var with []byte
			if i < large {
				with = data
			}
			require.NoError(t, srv.Create(fmt.Sprintf("/lock/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-%010d", i), with))
			require.NoError(t, srv.Create(fmt.Sprintf("/election/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-latch-%010d", i), with))
		}
		c := zkrtest.Dial(t, srv)
		mu, err := lock.NewMutex(c, "/lock")
		require.NoError(t, err)
		e, err := election.New(c, "/election")
		require.NoError(t, err)
		for name, list := range map[string]func() ([]recipes.Contender, error){
			"Queue":      func() ([]recipes.Contender, error) { return mu.Queue(t.Context()) },
			"Candidates": func() ([]recipes.Contender, error) { return e.Candidates(t.Context()) },
		} {
			before := inUse()
			all, err := list()
			require.NoError(t, err)
			srv.ResetRequests() // whose record is the server's
			kept := inUse() - before
			t.Logf("%s of %d: %d KiB", name, many, kept>>10)
			require.Len(t, all, many)
			require.LessOrEqual(t, len(all[0].Identity), 4<<10+len("…"))
			require.Less(t, kept, int64(most))
			runtime.KeepAlive(all)
		}
	})
}

// inUse is the memory that is reached.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
