package lock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Source: samuel#203.
func TestMutexAndTheClientLibrarysOwnLockExcludeEachOther(t *testing.T) {
	const each = 4
	turns := proof.Size(25, 250)
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	path := zkserver.Path(t)
	w.put(t, path, "")
	var mu sync.Mutex // guards what follows
	var held []belief.Interval
	// A moment of holding, long enough for somebody else to come in.
	hold := func() {
		iv := belief.Interval{From: belief.Now()}
		time.Sleep(time.Millisecond)
		iv.To = belief.Now()
		mu.Lock()
		defer mu.Unlock()
		held = append(held, iv)
	}
	var wg sync.WaitGroup
	for range each {
		conn, _, err := zk.Connect([]string{s.Addr()}, soon, zk.WithLogInfo(false))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		theirs := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		wg.Go(func() {
			for range turns {
				if err := theirs.Lock(); err != nil {
					t.Errorf("%v", err)
					return
				}
				hold()
				if err := theirs.Unlock(); err != nil {
					t.Errorf("%v", err)
				}
			}
		})
		ours := dial(t, s.Addr(), soon, recipes.WithPersistentParents()).mutex(t, path)
		wg.Go(func() {
			for range turns {
				l, err := ours.Lock(within(t, patience))
				if err != nil {
					t.Errorf("%v", err)
					return
				}
				hold()
				if err := l.Release(within(t, patience)); err != nil {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, held, 2*each*turns)
	sortByGrant(held)
	for i, next := range held[1:] {
		require.Less(t, held[i].To, next.From, "two at once")
	}
	require.Empty(t, children(t, w, path))
}
