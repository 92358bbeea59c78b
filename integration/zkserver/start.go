package zkserver

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"
)

// startTimeout bounds the start of an ensemble on a machine that other tests
// keep busy; it takes a second or two.
const startTimeout = time.Minute

// Start starts what cfg says, for this test alone, and closes it at its end.
// Where there is no provider, or only servers that cannot be controlled, the
// test is skipped, or fails if CI is set.
func Start(t testing.TB, cfg Config) *Ensemble {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	e, err := Launch(ctx, cfg)
	if err != nil {
		giveUp(t, err)
	}
	t.Logf("zkserver: %s", e.Provider())
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range e.Servers {
				t.Logf("the end of the log of %s:\n%s", s, s.LogTail(logLines))
			}
		}
		if err := e.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return e
}

// shared is the server of all tests of this binary that need no control.
var shared struct {
	sync.Mutex
	ens *Ensemble
}

// Shared returns one server that the tests of this binary share: that of
// ZK_SERVERS, or one started by the first call. Tests keep to paths of their
// own there, do not touch its own proxies, and give each client that is to be
// disturbed one of [Server.NewProxy]. [Main] closes it.
func Shared(t testing.TB) *Ensemble {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.ens == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		var err error
		if connect, ok := external(""); ok {
			shared.ens, err = attach(connect)
		} else {
			shared.ens, err = Launch(ctx, Config{})
		}
		if err != nil {
			shared.ens = nil
			giveUp(t, err)
		}
	}
	t.Logf("zkserver: shared: %s", shared.ens.Provider())
	return shared.ens
}

// closeShared is called by Main when no test runs any more.
func closeShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.ens == nil {
		return nil
	}
	err := shared.ens.Close()
	shared.ens = nil
	return err
}

// giveUp skips the test where this machine lacks something, loudly, and fails
// it where everything must be there.
func giveUp(t testing.TB, err error) {
	t.Helper()
	missing := errors.Is(err, errUnavailable) || errors.Is(err, ErrNoControl)
	if !missing || os.Getenv("CI") != "" {
		t.Fatalf("%v", err)
	}
	note("SKIPPED " + t.Name() + ": " + err.Error())
	t.Skipf("%v", err)
}
