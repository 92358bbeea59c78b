// Package bench measures what the recipes cost on a real ZooKeeper server:
//
//	make bench
//
// Times of a machine that does other things swing; so what counts are ratios of
// medians of interleaved rounds, and the numbers of requests, which are exact.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

type config struct{ rounds, pairs int }

// run measures an idle lock on a server with its data on disk, each transaction
// forced to it, and on one with its data in memory.
func run(ctx context.Context, cfg config, out io.Writer) error {
	fmt.Fprintf(out, "Acquire and release of an idle lock, against a bare create and delete on the same connection:\n")
	fmt.Fprintf(out, "medians of %d interleaved rounds of %d pairs, one caller.\n\n", cfg.rounds, cfg.pairs)
	fmt.Fprintln(out, "| data | create + delete | acquire + release | ratio | go-zookeeper create + delete | requests a pair |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- |")
	for _, s := range []struct {
		name    string
		storage zkserver.Storage
	}{{"disk, forceSync", zkserver.Disk}, {"tmpfs, no sync", zkserver.Memory}} {
		r, err := idle(ctx, cfg, s.storage)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %v | %v | %.3f | %v | %.3f |\n",
			s.name, r.bare, r.lock, float64(r.lock)/float64(r.bare), r.foreign, r.requests)
	}
	return nil
}

// costs are medians of one pair, and the requests that one takes.
type costs struct {
	bare, lock, foreign time.Duration
	requests            float64
}

func idle(ctx context.Context, cfg config, storage zkserver.Storage) (costs, error) {
	e, err := zkserver.Launch(ctx, zkserver.Config{
		Storage: storage,
		JVM:     []string{"-XX:TieredStopAtLevel=4"}, // as servers run in production
	})
	if err != nil {
		return costs{}, err
	}
	defer e.Close()
	s := e.Servers[0]
	b, err := newBench(ctx, s)
	if err != nil {
		return costs{}, err
	}
	defer b.close()
	var bare, locked, foreign []time.Duration
	for round := -1; round < cfg.rounds; round++ { // one to warm up
		for _, m := range []struct {
			pair func(context.Context) error
			to   *[]time.Duration
		}{{b.bare, &bare}, {b.lock, &locked}, {b.foreign, &foreign}} {
			d, err := median(ctx, cfg.pairs, m.pair)
			if err != nil {
				return costs{}, err
			}
			if round >= 0 {
				*m.to = append(*m.to, d)
			}
		}
	}
	requests, err := requests(ctx, cfg, s)
	return costs{mid(bare), mid(locked), mid(foreign), requests}, err
}

// bench is the connections of one measurement.
type bench struct {
	client  *recipes.Client
	session *recipes.Session
	mutex   *lock.Mutex
	zk      *zk.Conn
}

func newBench(ctx context.Context, s *zkserver.Server) (*bench, error) {
	b := &bench{}
	var err error
	if b.client, b.mutex, err = dial(ctx, s.DirectAddr()); err != nil {
		return nil, err
	}
	if b.session, err = b.client.Session(ctx); err != nil {
		return nil, err
	}
	for _, dir := range []string{"/bare", "/foreign"} {
		if _, err := b.session.Create(ctx, dir, nil, recipes.Persistent, nil); err != nil {
			return nil, err
		}
	}
	b.zk, _, err = zk.Connect([]string{s.DirectAddr()}, 10*time.Second, zk.WithLogInfo(false))
	return b, err
}

func dial(ctx context.Context, addr string) (*recipes.Client, *lock.Mutex, error) {
	c, err := recipes.Dial(ctx, addr, recipes.WithSessionTimeout(10*time.Second), recipes.WithTickTime(500*time.Millisecond))
	if err != nil {
		return nil, nil, err
	}
	m, err := lock.NewMutex(c, "/lock")
	return c, m, err
}

func (b *bench) close() {
	b.client.Close()
	b.zk.Close()
}

func (b *bench) bare(ctx context.Context) error {
	path, err := b.session.Create(ctx, "/bare/_c_00000000-0000-0000-0000-000000000000-lock-", nil, recipes.EphemeralSequential, nil)
	if err != nil {
		return err
	}
	return b.session.Delete(ctx, path, -1)
}

func (b *bench) lock(ctx context.Context) error { return pair(ctx, b.mutex) }

// pair is a lock with nothing done under it.
func pair(ctx context.Context, m *lock.Mutex) error {
	lease, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func (b *bench) foreign(context.Context) error {
	path, err := b.zk.Create("/foreign/_c_00000000-0000-0000-0000-000000000000-lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	return b.zk.Delete(path, -1)
}

// requests counts what reaches the server for a pair.
func requests(ctx context.Context, cfg config, s *zkserver.Server) (float64, error) {
	p, err := s.NewProxy()
	if err != nil {
		return 0, err
	}
	c, m, err := dial(ctx, p.Addr())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for range 2 { // the first one learns about the directory
		if err := pair(ctx, m); err != nil {
			return 0, err
		}
	}
	before := p.Counts().Total()
	for range cfg.pairs {
		if err := pair(ctx, m); err != nil {
			return 0, err
		}
	}
	return float64(p.Counts().Total()-before) / float64(cfg.pairs), nil
}

// median is that of n calls, one after the other.
func median(ctx context.Context, n int, call func(context.Context) error) (time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := call(ctx); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	return mid(took), nil
}

func mid(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2].Round(time.Microsecond)
}
