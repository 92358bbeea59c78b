package metering_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/metering"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const T = zkrtest.Timeout

// sums keeps the sum of what each metric was told, and how often a histogram was,
// under its name and labels.
type sums struct {
	mu     sync.Mutex
	values map[string]float64
}

func (s *sums) add(v float64, suffix string, m *metering.Metric, labels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]float64)
	}
	s.values[m.PrometheusName()+suffix+"{"+strings.Join(labels, ",")+"}"] += v
}

func (s *sums) Count(m *metering.Metric, n int, labels ...string) { s.add(float64(n), "", m, labels) }

func (s *sums) Observe(m *metering.Metric, v float64, labels ...string) {
	s.add(v, "_sum", m, labels)
	s.add(1, "_count", m, labels)
}

// now returns the sums together with what the meter tells when it is asked.
func (s *sums) now(m *metering.Meter) map[string]float64 {
	synctest.Wait()
	return s.asked(m)
}

// asked is now outside of a bubble.
func (s *sums) asked(m *metering.Meter) map[string]float64 {
	s.mu.Lock()
	all := maps.Clone(s.values)
	s.mu.Unlock()
	m.Collect(func(m *metering.Metric, v float64, labels ...string) {
		all[m.PrometheusName()+"{"+strings.Join(labels, ",")+"}"] = v
	})
	return all
}

// requireValues compares some of the values; those that are missing are -1.
func requireValues(t *testing.T, want, got map[string]float64) {
	t.Helper()
	some := make(map[string]float64)
	for k := range want {
		v, ok := got[k]
		if !ok {
			v = -1
		}
		some[k] = v
	}
	require.Equal(t, want, some)
}

func measured(t *testing.T, srv *zktest.Server, byLock func(string) string) (*sums, *metering.Meter, *recipes.Client) {
	t.Helper()
	told := new(sums)
	m := metering.New(told, byLock)
	return told, m, zkrtest.Dial(t, srv, recipes.WithTrace(m.Trace()))
}

func mutex(t *testing.T, c *recipes.Client, path string) *lock.Mutex {
	t.Helper()
	mu, err := lock.NewMutex(c, path)
	require.NoError(t, err)
	return mu
}

func TestWaitsAndHoldsAreMeasured(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, c := measured(t, srv, nil)
		l, err := mutex(t, c, "/x").Lock(t.Context())
		require.NoError(t, err)
		_, err = mutex(t, c, "/x").TryLock(t.Context())
		require.ErrorIs(t, err, lock.ErrLocked)
		_, err = mutex(t, c, "/x").Lock(zkrtest.Soon(t, 2*time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		wait := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, c, "/x").Lock(t.Context()) })
		time.Sleep(3 * time.Second)

		requireValues(t, map[string]float64{
			"zkr_lease_held{mutex}":              1,
			"zkr_wait_active{mutex}":             1,
			"zkr_wait_longest_seconds{mutex}":    3,
			"zkr_session_open{connected}":        1,
			"zkr_session_open{suspended}":        0,
			"zkr_session_timeout_seconds{}":      T.Seconds(),
			"zkr_lease_remaining_seconds{}":      l.Remaining().Seconds(),
			"zkr_lease_lost_total{mutex,closed}": 0,
		}, told.now(m))

		require.NoError(t, l.Release(t.Context()))
		second := zkrtest.Granted(t, wait, 0)
		time.Sleep(time.Second)
		require.NoError(t, srv.Delete(second.Node()))
		zkrtest.Ended(t, second, 0)
		e, err := election.New(c, "/e")
		require.NoError(t, err)
		_, err = e.Campaign(t.Context())
		require.NoError(t, err)
		require.NotZero(t, told.now(m)["zkr_lease_remaining_seconds{}"])
		c.Close()

		requireValues(t, map[string]float64{
			"zkr_wait_duration_seconds_count{mutex,granted}": 2,
			"zkr_wait_duration_seconds_sum{mutex,granted}":   3,
			"zkr_wait_duration_seconds_count{mutex,locked}":  1,
			"zkr_wait_duration_seconds_sum{mutex,timeout}":   2,
			"zkr_hold_duration_seconds_sum{mutex,released}":  5,
			"zkr_hold_duration_seconds_count{mutex,lost}":    1,
			"zkr_hold_duration_seconds_sum{mutex,lost}":      1,
			"zkr_lease_lost_total{mutex,deleted}":            1,
			"zkr_lease_lost_total{candidate,closed}":         1,
			"zkr_lease_held{mutex}":                          0,
			"zkr_lease_held{candidate}":                      0,
			"zkr_wait_active{mutex}":                         0,
			"zkr_wait_longest_seconds{mutex}":                0,
			"zkr_lease_remaining_seconds{}":                  -1,
			"zkr_session_timeout_seconds{}":                  -1,
			"zkr_session_open{connected}":                    0,
			"zkr_session_ended_total{closed}":                1,
			"zkr_session_ended_total{lost}":                  0,
			"zkr_cleanups_total{failed}":                     0,
		}, told.now(m))
	})
}

func TestTheLeaseThatEndsFirstIsTold(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, patient := measured(t, srv, nil)
		hasty := zkrtest.Dial(t, srv, recipes.WithTrace(m.Trace()), recipes.WithSessionTimeout(T/2))
		late, err := mutex(t, patient, "/x").Lock(t.Context())
		require.NoError(t, err)
		soon, err := mutex(t, hasty, "/y").Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(T)
		require.Less(t, soon.Remaining(), late.Remaining())
		requireValues(t, map[string]float64{
			"zkr_lease_remaining_seconds{}": soon.Remaining().Seconds(),
			"zkr_session_timeout_seconds{}": (T / 2).Seconds(),
			"zkr_session_open{connected}":   2,
			"zkr_lease_held{mutex}":         2,
		}, told.now(m))
	})
}

func TestRenewalsAndSuspensionsAreMeasuredWhileTheyLast(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, c := measured(t, srv, nil)
		_, err := mutex(t, c, "/x").Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(T)
		require.NotZero(t, told.now(m)["zkr_renewal_duration_seconds_count{ok}"])
		srv.Down()
		synctest.Wait()
		time.Sleep(time.Second)
		requireValues(t, map[string]float64{
			"zkr_session_open{connected}":                0,
			"zkr_session_open{suspended}":                1,
			"zkr_session_suspended_seconds_total{}":      1,
			"zkr_renewal_duration_seconds_count{failed}": -1,
		}, told.now(m))
		time.Sleep(T)
		requireValues(t, map[string]float64{"zkr_lease_lost_total{mutex,disconnected}": 1, "zkr_lease_held{mutex}": 0}, told.now(m))
		require.NoError(t, srv.Up())
		time.Sleep(T)
		before := told.now(m)["zkr_session_suspended_seconds_total{}"]
		require.GreaterOrEqual(t, before, (T + time.Second).Seconds())
		time.Sleep(T)
		require.Equal(t, before, told.now(m)["zkr_session_suspended_seconds_total{}"], "it is over")
	})
}

// Each ensemble numbers its own sessions.
func TestSessionsOfTwoEnsemblesMayHaveOneID(t *testing.T) {
	told := new(sums)
	m := metering.New(told, nil)
	a, b := new(recipes.Client), new(recipes.Client)
	m.Trace().SessionState(recipes.SessionEvent{Client: a, Session: 7, State: recipes.Connected})
	m.Trace().SessionState(recipes.SessionEvent{Client: b, Session: 7, State: recipes.Suspended})
	open := func(connected, suspended float64) {
		t.Helper()
		requireValues(t, map[string]float64{
			"zkr_session_open{connected}": connected,
			"zkr_session_open{suspended}": suspended,
		}, told.asked(m))
	}
	open(1, 1)
	m.Trace().SessionState(recipes.SessionEvent{Client: b, Session: 7, State: recipes.Lost})
	open(1, 0)
}

func TestLongestPauseIsKept(t *testing.T) {
	told := new(sums)
	m := metering.New(told, nil)
	for _, late := range []time.Duration{time.Second, 3 * time.Second, 0} {
		m.Trace().TimerFired(recipes.TimerEvent{Late: late})
	}
	require.Equal(t, 4., told.values["zkr_timer_lateness_seconds_sum{}"])
	require.Equal(t, 3., told.values["zkr_timer_lateness_seconds_count{}"])
	m.Collect(func(of *metering.Metric, v float64, _ ...string) {
		if of == metering.PauseLongest {
			require.Equal(t, 3., v)
		}
	})
}

func TestPathsAreNoLabelsUnlessAskedForAndThenAFew(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, c := measured(t, srv, func(path string) string { return "of " + path })
		for i := range metering.MaxLocks + 2 {
			l, err := mutex(t, c, fmt.Sprintf("/x%d", i)).Lock(t.Context())
			require.NoError(t, err)
			defer func() { _ = l.Release(t.Context()) }()
		}
		requireValues(t, map[string]float64{
			"zkr_lease_held{mutex,of /x0}":                         1,
			"zkr_lease_lost_total{mutex,deleted,of /x0}":           0,
			"zkr_lease_held{mutex,of /x99}":                        1,
			"zkr_lease_held{mutex,of /x100}":                       -1,
			"zkr_lease_held{mutex,other}":                          2,
			"zkr_wait_duration_seconds_count{mutex,granted,other}": 2,
		}, told.now(m))
	})
}

// Prometheus panics on a label that is no text, in a call of the lock's then.
func TestLabelsAreText(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		told, m, c := measured(t, srv, func(path string) string { return path[:2] })
		_, err := mutex(t, c, "/é").Lock(t.Context())
		require.NoError(t, err)
		requireValues(t, map[string]float64{"zkr_lease_held{mutex,/\uFFFD}": 1}, told.now(m))
	})
}

func TestRefusalsAreCountedByTheirReason(t *testing.T) {
	told := new(sums)
	m := metering.New(told, nil)
	g := m.Guard(fence.NewMemory("x"))
	nothing := func(context.Context) error { return nil }
	for _, s := range []fence.Stamp{{Token: 34, Seq: 2}, {Token: 34, Seq: 2}, {Token: 34, Seq: 1}, {Token: 33}} {
		_ = g.Write(t.Context(), s, nothing)
	}
	m.Refused(fmt.Errorf("of one's own statement: %w", fence.ErrStale))
	m.Refused(context.Canceled)
	m.Refused(nil)
	requireValues(t, map[string]float64{
		"zkr_stale_writes_refused_total{superseded}": 2,
		"zkr_stale_writes_refused_total{repeated}":   1,
		"zkr_stale_writes_refused_total{overtaken}":  1,
	}, told.values)
}

// https://prometheus.io/docs/practices/naming/,
// https://opentelemetry.io/docs/specs/semconv/general/naming/
func TestNamesFollowTheConventions(t *testing.T) {
	otel := regexp.MustCompile(`^zkr(\.[a-z]+(_[a-z]+)*)+$`)
	seen := make(map[string]bool)
	for _, m := range append(metering.Told(), metering.Asked()...) {
		require.Regexp(t, otel, m.Name)
		require.False(t, seen[m.Name], m.Name)
		seen[m.Name] = true
		require.NotContains(t, m.Name, "total")
		require.Regexp(t, `^(s|\{[a-z]+\})$`, m.Unit, m.Name)
		require.Regexp(t, `\.$`, m.Help, m.Name)
		require.Equal(t, m.Kind == metering.Histogram, m.Buckets != nil, m.Name)
		require.IsIncreasing(t, append([]float64{0}, append(m.Buckets, 1e9)...), m.Name)
		require.Equal(t, m.Kind == metering.Counter, strings.HasSuffix(m.PrometheusName(), "_total"), m.Name)
		require.NotRegexp(t, `_(count|sum|bucket)$`, m.PrometheusName(), "that is for histograms")
		if m.Kind == metering.UpDown {
			require.NotRegexp(t, `s$`, m.Name, "in the singular")
		}
	}
}
