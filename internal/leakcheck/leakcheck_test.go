package leakcheck_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestAGoroutineThatGoesOnIsFound(t *testing.T) {
	stop := make(chan struct{})
	go forgotten(stop)
	require.Contains(t, leakcheck.Leaked(), "forgotten")
	close(stop)
	require.Empty(t, leakcheck.Leaked())
}

func TestAGoroutineThatIsAboutToEndIsWaitedFor(t *testing.T) {
	go time.Sleep(50 * time.Millisecond)
	require.Empty(t, leakcheck.Leaked())
}

func forgotten(stop chan struct{}) { <-stop }
