package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// arena is the servers of one kind of storage.
type arena struct {
	storage string
	zk      *zkserver.Server
	proxy   *proxy.Proxy // counts what passes
	etcd    *etcdServer  // nil where there is none
}

const zookeeperVersion = "3.8"

const (
	onDisk  = "disk"
	onTmpfs = "tmpfs"
)

func newArena(t testing.TB, storage string) *arena {
	t.Helper()
	kind, parent := zkserver.Memory, "/dev/shm"
	if storage == onDisk {
		kind, parent = zkserver.Disk, ""
	}
	e := zkserver.Start(t, zkserver.Config{
		Version: zookeeperVersion,
		Storage: kind,
		JVM:     []string{"-XX:TieredStopAtLevel=4", "-Xmx2g"}, // as servers run in production
	})
	a := &arena{storage: storage, zk: e.Servers[0]}
	var err error
	a.proxy, err = a.zk.NewProxy()
	require.NoError(t, err)
	a.etcd = startEtcd(t, parent)
	return a
}

// addr is where a program finds its server.
func (a *arena) addr(name string) string {
	if name == etcd {
		return a.etcd.addr
	}
	return a.zk.DirectAddr()
}

// counts is what clients have had of a server.
type counts struct{ requests, events, bytes float64 }

func (c counts) minus(d counts) counts {
	return counts{c.requests - d.requests, c.events - d.events, c.bytes - d.bytes}
}

func (c counts) over(n float64) counts { return counts{c.requests / n, c.events / n, c.bytes / n} }

// countedAddr is where a program finds its server by a way that counts. Nothing
// is timed on it.
func (a *arena) countedAddr(name string) string {
	if name == etcd {
		return a.etcd.addr
	}
	return a.proxy.Addr()
}

// count returns what do has had.
func (a *arena) count(ctx context.Context, t testing.TB, name string, do func()) counts {
	t.Helper()
	before := a.read(ctx, t, name)
	do()
	return a.read(ctx, t, name).minus(before)
}

func (a *arena) read(ctx context.Context, t testing.TB, name string) counts {
	t.Helper()
	if name == etcd {
		c, err := a.etcd.counts(ctx)
		require.NoError(t, err)
		return c
	}
	return seen(a.proxy.Counts())
}

func seen(c proxy.Counts) counts {
	return counts{float64(c.Total()), float64(c.Events), float64(c.BytesToClient)}
}
