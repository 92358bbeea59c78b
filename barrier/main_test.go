package barrier_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const (
	path = "/barriers/x"
	T    = zkrtest.Timeout
	tick = zkrtest.Tick
)

// waiting is a call in the background.
type waiting = <-chan zkrtest.Result[struct{}]

func start(call func() error) waiting {
	return zkrtest.Go(func() (struct{}, error) { return struct{}{}, call() })
}

// returned waits for a call that returns within the given time.
func returned(t testing.TB, w waiting, within time.Duration) error {
	t.Helper()
	synctest.Wait() // what takes no time has happened
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case r := <-w:
		return r.Err
	case <-timeout.C:
		synctest.Wait()
		require.NotEmpty(t, w, "no answer within %v", within)
		return (<-w).Err
	}
}

// soon returns a context that ends after d.
func soon(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
