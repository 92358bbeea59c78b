package lock_test

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// A real server's counter does not wrap: it sticks at its greatest value, and
// numbers are no longer distinct. Sources: kazoo#730, kazoo#606, go-zk PR#65,
// ZOOKEEPER-4706, ZOOKEEPER-2944.
func TestContendersAreServedInTheirOrderWhereTheServersNumbersEnd(t *testing.T) {
	parallel(t)
	const contenders = 8
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	w := witness(t, s)
	const path = "/at-the-end"
	w.put(t, path, "")
	w.Close()
	setCounter(t, s, path, math.MaxInt32-3)

	w = witness(t, s)
	h := w.lock(t, path)
	require.Equal(t, "2147483644", sequence(t, h.Node()))
	var order []<-chan outcome
	for i := range contenders {
		order = append(order, dial(t, s.Addr(), soon).lockLater(t, path))
		awaitQueued(t, w, path, i+2)
	}
	t.Log(children(t, w, path))
	require.NoError(t, h.Release(within(t, soon)))
	last := h.Token()
	for _, next := range order {
		n := mustHold(t, next, soon)
		require.Greater(t, n.Token(), last)
		last = n.Token()
		require.NoError(t, n.Verify(within(t, soon)))
		for _, other := range order {
			require.Empty(t, other, "two at once")
		}
		require.NoError(t, n.Release(within(t, soon)))
	}
	// The directory is empty now: whoever has seen where its numbers are deletes
	// it before the next lock, and they begin anew.
	m := w.mutex(t, path)
	for _, number := range []string{"2147483647", "0000000000", "0000000001"} {
		l, err := m.Lock(within(t, soon))
		require.NoError(t, err)
		require.Equal(t, number, sequence(t, l.Node()))
		require.Greater(t, l.Token(), last)
		last = l.Token()
		require.NoError(t, l.Release(within(t, soon)))
	}
}

// Contenders that queue at once at the end of the range get negative numbers.
func TestOverlappingContendersAreOneAtATimeWhereTheServersNumbersEnd(t *testing.T) {
	parallel(t)
	const contenders = 32
	s := zkserver.Start(t, zkserver.Config{Tick: tick}).Servers[0]
	w := witness(t, s)
	const path = "/at-the-end"
	w.put(t, path, "")
	w.Close()
	setCounter(t, s, path, math.MaxInt32-5)

	w = witness(t, s)
	h := w.lock(t, path)
	c := dial(t, s.Addr(), soon)
	granted := make(chan hold, contenders)
	for range contenders {
		got := c.lockLater(t, path)
		go func() {
			if o := <-got; o.err == nil {
				granted <- o.hold
			}
		}()
	}
	awaitQueued(t, w, path, contenders+1)
	t.Log(children(t, w, path))
	var last fence.Token
	require.NoError(t, h.Release(within(t, soon)))
	for range contenders {
		n := receive(t, "the next grant", granted, soon)
		require.Greater(t, n.Token(), last)
		last = n.Token()
		require.NoError(t, n.Verify(within(t, soon)))
		require.Empty(t, granted, "two at once")
		require.NoError(t, n.Release(within(t, soon)))
	}
}

// setCounter has the server find path with another counter of children than it
// gave it: by a change of its snapshot.
func setCounter(t *testing.T, s *zkserver.Server, path string, counter int32) {
	t.Helper()
	// It writes a snapshot of all that its log holds when it starts.
	require.NoError(t, s.Restart(within(t, patience)))
	require.NoError(t, s.Kill())
	snapshots, err := filepath.Glob(filepath.Join(s.DataDir(), "version-2", "snapshot.*"))
	require.NoError(t, err)
	changed := 0
	for _, name := range snapshots {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		if patch(t, data, path, counter) {
			changed++
			require.NoError(t, os.WriteFile(name, data, 0o600))
		}
	}
	require.Positive(t, changed, "no snapshot names %s", path)
	require.NoError(t, s.Launch(within(t, patience)))
	require.NoError(t, s.AwaitServing(within(t, patience)))
}

// patch changes a snapshot and tells whether it holds path. A znode is there as
// its path, its data, the number of its ACL and its Stat; checksums of all that
// stands before them seal the file.
func patch(t *testing.T, snapshot []byte, path string, counter int32) bool {
	t.Helper()
	var seals []int
	for i := range len(snapshot) - 12 {
		if bytes.Equal(snapshot[i+8:i+13], sealName) && sum(snapshot[:i]) == binary.BigEndian.Uint64(snapshot[i:]) {
			seals = append(seals, i)
		}
	}
	require.NotEmpty(t, seals, "not a snapshot as this test knows them")
	key := binary.BigEndian.AppendUint32(nil, uint32(len(path)))
	at := bytes.Index(snapshot, append(key, path...))
	if at < 0 {
		return false
	}
	node := snapshot[at+4+len(path):]
	size := max(0, int(int32(binary.BigEndian.Uint32(node)))) // of the data
	const (
		acl     = 8
		ids     = 4 * 8 // czxid, mzxid, ctime, mtime
		version = 4
	)
	binary.BigEndian.PutUint32(node[4+size+acl+ids+version:], uint32(counter))
	for _, i := range seals {
		binary.BigEndian.PutUint64(snapshot[i:], sum(snapshot[:i]))
	}
	return true
}

var sealName = []byte{0, 0, 0, 1, '/'}

func sum(b []byte) uint64 { return uint64(adler32.Checksum(b)) }
