package zkserver

import (
	"context"
	"errors"
	"fmt"
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

// shared holds the servers of all tests of this binary that need no control,
// by what was asked for.
var shared struct {
	sync.Mutex
	ens map[string]*Ensemble
}

// Shared returns one server that the tests of this binary share: that of
// ZK_SERVERS, or one started by the first call. Tests keep to paths of their
// own there, do not touch its own proxies, and give each client that is to be
// disturbed one of [Server.NewProxy]. [Main] closes it.
func Shared(t testing.TB) *Ensemble {
	t.Helper()
	return share(t, Config{}, func(ctx context.Context) (*Ensemble, error) {
		if connect, ok := external(""); ok {
			return attach(connect)
		}
		return Launch(ctx, Config{})
	})
}

// SharedAs is Shared for tests that need a certain kind of server: one for
// each Config. Those of ZK_SERVERS will not do.
func SharedAs(t testing.TB, cfg Config) *Ensemble {
	t.Helper()
	return share(t, cfg, func(ctx context.Context) (*Ensemble, error) { return Launch(ctx, cfg) })
}

func share(t testing.TB, cfg Config, start func(context.Context) (*Ensemble, error)) *Ensemble {
	t.Helper()
	key := fmt.Sprint(cfg)
	shared.Lock()
	defer shared.Unlock()
	e := shared.ens[key]
	if e == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		var err error
		if e, err = start(ctx); err != nil {
			giveUp(t, err)
		}
		if shared.ens == nil {
			shared.ens = make(map[string]*Ensemble)
		}
		shared.ens[key] = e
	}
	t.Logf("zkserver: shared: %s", e.Provider())
	return e
}

// closeShared is called by Main when no test runs any more.
func closeShared() error {
	shared.Lock()
	defer shared.Unlock()
	var errs []error
	for _, e := range shared.ens {
		errs = append(errs, e.Close())
	}
	shared.ens = nil
	return errors.Join(errs...)
}

// giveUp skips the test, loudly, where this machine lacks something and nobody
// has said by CI that it must be there, or where ZK_PROVIDER rules it out.
func giveUp(t testing.TB, err error) {
	t.Helper()
	missing := errors.Is(err, errUnavailable) || errors.Is(err, ErrNoControl)
	skip := errors.Is(err, errForced) || missing && os.Getenv("CI") == ""
	if !skip {
		t.Fatalf("%v", err)
	}
	note("SKIPPED " + t.Name() + ": " + err.Error())
	t.Skipf("%v", err)
}
