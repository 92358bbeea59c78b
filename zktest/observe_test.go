package zktest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestRequestsAreCountedByOperationAndSession(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	s.ResetRequests()
	a.ping()
	a.exists("/")
	a.exists("/")
	b.exists("/")
	require.Equal(t, 3, s.Requests(zktest.OpExists, 0))
	require.Equal(t, 2, s.Requests(zktest.OpExists, a.id()))
	require.Equal(t, 3, s.Requests(0, a.id()))
	require.Equal(t, 4, s.Requests(0, 0))
}

func TestDumpAndLogShowWhatIsAndWas(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	require.Contains(t, s.Dump(), `/e ""`)
	require.Contains(t, s.Dump(), "ephemeral of 0x")
	require.Contains(t, s.Log(), `create xid 1 "/e"`)
	info := s.Sessions()[0]
	require.True(t, info.Connected)
	require.Equal(t, []string{"/e"}, info.Ephemerals)
	require.Equal(t, 10*time.Second, info.Timeout)
	require.Equal(t, s.Member(0).Addr(), info.Addr)
}

// recorder is a T that remembers how a test ended.
type recorder struct {
	mu       sync.Mutex
	cleanups []func()
	failed   bool
	text     string
}

func (r *recorder) Helper() {}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range args {
		if s, ok := a.(string); ok {
			r.text += s
		} else if e, ok := a.(error); ok {
			r.text += e.Error()
		}
	}
}

func (r *recorder) Errorf(format string, args ...any) { r.failed = true; r.Logf(format, args...) }

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestStartFailsTheTestAndShowsTheLog(t *testing.T) {
	r := &recorder{}
	s := zktest.Start(r, zktest.WithInMemory())
	open(t, s).create("/seen", 0)
	s.On(zktest.Match{Path: "/missed"}).Observe()
	for _, f := range r.cleanups {
		f()
	}
	require.True(t, r.failed)
	require.Contains(t, r.text, "/missed")
	require.Contains(t, r.text, "/seen")
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []zktest.Option{
		zktest.WithTick(0), zktest.WithSessionTimeouts(2, 1), zktest.WithFollowers(-1),
		zktest.WithMaxBuffer(10), zktest.WithContainerCheck(0), zktest.WithSyncLimit(0), zktest.WithListen("nowhere:x"),
	} {
		_, err := zktest.New(o)
		require.Error(t, err)
	}
}
