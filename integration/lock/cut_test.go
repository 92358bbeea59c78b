package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Situations in which a lock is asked for; each takes requests of its own.
const (
	newDirectory   = "new directory"
	knownDirectory = "known directory"
	behindAnother  = "behind another"
)

// cutRun is one acquire, hold and release during which the connection is cut
// once.
type cutRun struct {
	situation string
	after     bool // the server has committed the request
	n         int  // which request of the run

	hit   *proxy.Request
	err   error // of Lock
	txn   error
	given error // of Release
}

func (r *cutRun) String() string {
	when := "before"
	if r.after {
		when = "after"
	}
	return fmt.Sprintf("%s, cut %s request %d", r.situation, when, r.n)
}

// Sources: samuel#229, samuel PR#237, NC#3, CURATOR-45 (curator#566),
// rackerlabs/otter#1926, accumulo#637; CURATOR-335 (curator#855), CURATOR-315;
// CURATOR-678 (curator#1193), CURATOR-486.
func TestCutAtAnyRequestLeavesTheLockOrAnErrorAndNoGhost(t *testing.T) {
	parallel(t)
	const requests = 16 // more than any run makes
	const atOnce = 24
	report := proof.New(t, "lock-cut-at-each-request", "The connection cut at each request of acquire, hold and release")
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	w := witness(t, s)
	root := zkserver.Path(t)
	w.put(t, root, "")

	var all []*cutRun
	for range proof.Size(1, 10) {
		for _, situation := range []string{newDirectory, knownDirectory, behindAnother} {
			for _, after := range []bool{false, true} {
				for n := 1; n <= requests; n++ {
					all = append(all, &cutRun{situation: situation, after: after, n: n})
				}
			}
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, r := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := r.run(t, s, w, fmt.Sprintf("%s/%d", root, i)); err != nil {
				t.Errorf("%s: %v", r, err)
			}
		})
	}
	wg.Wait()
	rows := [][]string{{"situation", "cut", "request", "lock", "write", "release"}}
	for _, r := range all[:min(len(all), 6*requests)] {
		if r.hit == nil {
			require.Greater(t, r.n, 3, "%s: never reached", r)
			continue
		}
		require.Less(t, r.n, requests, "%s: there may be more requests", r)
		when := map[bool]string{false: "before commit", true: "after commit"}[r.after]
		rows = append(rows, []string{r.situation, when, fmt.Sprint(r.n, " ", r.hit.Op), verdict(r.err), verdict(r.txn), verdict(r.given)})
	}
	report.Printf("%d runs, each cut once at most; in none was a znode left", len(all))
	report.Table(rows)
}

// run must not stop the test: it is not its goroutine.
func (r *cutRun) run(t *testing.T, s *zkserver.Server, w *client, path string) error {
	const timeout = 4 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := s.NewProxy()
	if err != nil {
		return err
	}
	defer p.Close()
	renewed := make(chan struct{}, 100)
	c, err := recipes.Dial(ctx, p.Addr(), recipes.WithSessionTimeout(timeout), recipes.WithTickTime(tick),
		recipes.WithTrace(recipes.Trace{Renewed: func(ev recipes.RenewalEvent) {
			if ev.Err == nil {
				renewed <- struct{}{}
			}
		}}))
	if err != nil {
		return err
	}
	defer c.Close()
	session, err := c.Session(ctx)
	if err != nil {
		return err
	}
	m, err := lock.NewMutex(c, path)
	if err != nil {
		return err
	}
	begin, err := r.prepare(ctx, w, m, path)
	if err != nil {
		return err
	}
	data := path + "-data"
	if _, err := session.Create(ctx, data, nil, recipes.Persistent, nil); err != nil {
		return err
	}
	cut := p.CutBefore
	if r.after {
		cut = p.CutAfter
	}
	hit := cut(proxy.OpAny, r.n)
	go begin()
	lease, err := m.Lock(ctx)
	if r.err = err; err == nil {
		// The hold is over when its watch is armed and a renewal has been made.
		select {
		case <-renewed:
		case <-lease.Done():
		}
		_, r.txn = lease.Txn(ctx, recipes.SetOp(data, []byte("held"), -1))
		r.given = lease.Release(ctx)
	}
	select {
	case req := <-hit:
		r.hit = &req
	default:
		p.ClearCuts()
	}
	return r.check(ctx, w, session, path)
}

// prepare brings the situation about. begin, run beside Lock, ends what Lock
// waits for.
func (r *cutRun) prepare(ctx context.Context, w *client, m *lock.Mutex, path string) (begin func(), err error) {
	switch r.situation {
	case knownDirectory:
		for range 2 { // the first one learns that the directory carries no data
			lease, err := m.Lock(ctx)
			if err != nil {
				return nil, err
			}
			if err := lease.Release(ctx); err != nil {
				return nil, err
			}
		}
	case behindAnother:
		wm, err := lock.NewMutex(w.Client, path)
		if err != nil {
			return nil, err
		}
		lease, err := wm.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() {
			for len(mustList(ctx, w, path)) < 2 && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			// Let the contender arm its watch.
			time.Sleep(100 * time.Millisecond)
			_ = lease.Release(ctx)
		}, nil
	}
	return func() {}, nil
}

// check waits until the directory is empty, while the session lives: what it
// left behind would otherwise go with it.
func (r *cutRun) check(ctx context.Context, w *client, session *recipes.Session, path string) error {
	for left := mustList(ctx, w, path); len(left) > 0; left = mustList(ctx, w, path) {
		if ctx.Err() != nil {
			return fmt.Errorf("left behind: %v", left)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := session.Barrier(ctx); err != nil {
		return fmt.Errorf("the session did not outlive the run, which shows nothing: %w", err)
	}
	if left := mustList(ctx, w, path); len(left) > 0 {
		return fmt.Errorf("came late: %v", left)
	}
	for _, err := range []error{r.err, r.given} {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("hung: %w", err)
		}
	}
	return nil
}

// mustList lists a directory, one that does not exist as empty.
func mustList(ctx context.Context, c *client, path string) []string {
	s, err := c.Session(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	names, _, err := s.Children(ctx, path)
	if err != nil && !errors.Is(err, recipes.ErrNoNode) {
		return []string{err.Error()}
	}
	return names
}

func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
