package barrier_test

import (
	"testing"
	"time"

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
	return zkrtest.Receive(t, w, within).Err
}

var soon = zkrtest.Soon
