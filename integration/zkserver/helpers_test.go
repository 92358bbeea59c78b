package zkserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// patience bounds what takes a second or two on a machine of one's own.
const patience = time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// dial returns a client that has a session, closed at the test's end.
func dial(t *testing.T, timeout time.Duration, addrs ...string) *zk.Conn {
	t.Helper()
	session := make(chan struct{}, 100)
	conn, _, err := zk.Connect(addrs, timeout, zk.WithLogger(silent{}), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			select {
			case session <- struct{}{}:
			default:
			}
		}
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	select {
	case <-session:
	case <-time.After(patience):
		require.FailNow(t, "no session", "at %v", addrs)
	}
	return conn
}

func create(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	_, err := conn.Create(path, []byte("data"), 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
}

// exists asks the server over a session of its own.
func exists(t *testing.T, s *zkserver.Server, path string) bool {
	t.Helper()
	conn := dial(t, 4*time.Second, s.Addr())
	defer conn.Close()
	found, _, err := conn.Exists(path)
	require.NoError(t, err)
	return found
}

// eventually asks until ok or the end of patience; servers announce nothing.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 20*time.Millisecond, what)
}

func start(t *testing.T, cfg zkserver.Config) *zkserver.Ensemble {
	t.Helper()
	begin := time.Now()
	e := zkserver.Start(t, cfg)
	t.Logf("%d servers serve after %v", len(e.Servers), time.Since(begin).Round(time.Millisecond))
	return e
}
