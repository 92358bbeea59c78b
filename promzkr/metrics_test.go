package promzkr_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/promzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// life measures a waiter, a holder and a loss.
func life(t *testing.T, srv *zktest.Server, m *promzkr.Metrics) {
	t.Helper()
	c := zkrtest.Dial(t, srv, recipes.WithTrace(m.Trace()))
	mu, err := lock.NewMutex(c, "/x")
	require.NoError(t, err)
	l, err := mu.Lock(t.Context())
	require.NoError(t, err)
	next := zkrtest.Go(func() (*recipes.Lease, error) { return mu.Lock(t.Context()) })
	time.Sleep(zkrtest.Timeout)
	require.NoError(t, l.Release(t.Context()))
	l = zkrtest.Granted(t, next, 0)
	require.NoError(t, srv.Delete(l.Node()))
	zkrtest.Ended(t, l, 0)
	synctest.Wait()
}

func TestMetricsOfALifeOfLocks(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		m := promzkr.New()
		life(t, srv, m)
		const want = `
# HELP zkr_lease_held Leases that are held.
# TYPE zkr_lease_held gauge
zkr_lease_held{kind="mutex"} 0
# HELP zkr_lease_lost_total Leases that ended without having been released.
# TYPE zkr_lease_lost_total counter
zkr_lease_lost_total{cause="closed",kind="mutex"} 0
zkr_lease_lost_total{cause="deleted",kind="mutex"} 1
zkr_lease_lost_total{cause="disconnected",kind="mutex"} 0
zkr_lease_lost_total{cause="expired",kind="mutex"} 0
zkr_lease_lost_total{cause="suspended",kind="mutex"} 0
zkr_lease_lost_total{cause="unproven",kind="mutex"} 0
# HELP zkr_session_suspended_seconds_total How long sessions were in doubt, for want of a connection.
# TYPE zkr_session_suspended_seconds_total counter
zkr_session_suspended_seconds_total 0
# HELP zkr_session_timeout_seconds The session timeout that the servers granted, the smallest where they differ.
# TYPE zkr_session_timeout_seconds gauge
zkr_session_timeout_seconds 10
`
		require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(want),
			"zkr_lease_held", "zkr_lease_lost_total", "zkr_session_suspended_seconds_total", "zkr_session_timeout_seconds"))
		require.Equal(t, 1, testutil.CollectAndCount(m, "zkr_wait_duration_seconds"))
		require.Equal(t, 2, testutil.CollectAndCount(m, "zkr_hold_duration_seconds"))
	})
}

// What Prometheus's own linter would say, of all metrics, with and without the
// label.
func TestMetricsAreAsPrometheusWantsThem(t *testing.T) {
	for name, opts := range map[string][]promzkr.Option{
		"no label": nil,
		"a label":  {promzkr.WithLockLabel(func(string) string { return "any" })},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				m := promzkr.New(opts...)
				reg := prometheus.NewPedanticRegistry()
				require.NoError(t, reg.Register(m))
				life(t, srv, m)
				problems, err := testutil.GatherAndLint(reg)
				require.NoError(t, err)
				require.Empty(t, problems)
			})
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	srv := zktest.Start(b)
	m := promzkr.New()
	c, err := recipes.Dial(b.Context(), srv.ConnectString(), recipes.WithTrace(m.Trace()))
	require.NoError(b, err)
	defer c.Close()
	sem, err := lock.NewSemaphore(c, "/x", 1000)
	require.NoError(b, err)
	for range 1000 {
		_, err := sem.Acquire(b.Context())
		require.NoError(b, err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)
	for b.Loop() {
		_, _ = reg.Gather()
	}
}
