package recipetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// RWMutex tests lock.RWMutex.
func RWMutex(t *testing.T, dial Dialer) {
	runAll(t, dial, []fact{
		{"ReadersShareAndWritersExclude", rwShares},
		{"ReadersBehindAWaitingWriterWait", rwOrder},
		{"TryLockAndTryRLockSayWhoIsInTheWay", rwTry},
		{"DowngradeLetsNoWriterInAndKeepsTheToken", rwDowngrade},
		{"QueueTellsWhoHolds", rwQueue},
	})
}

// rwContender is a read/write lock of a client of its own.
type rwContender struct {
	*lock.RWMutex
	places places
}

func (s *suite) rwContender() *rwContender {
	s.Helper()
	c := &rwContender{places: make(places, 1)}
	var err error
	c.RWMutex, err = lock.NewRWMutex(s.dial(s.T), s.path, c.places.option())
	require.NoError(s, err)
	return c
}

// held states that a call returned a lease.
func (s *suite) held(l *recipes.Lease, err error) *recipes.Lease {
	s.Helper()
	require.NoError(s, err)
	require.NoError(s, l.Err())
	return l
}

func rwShares(s *suite) {
	a, b, c := s.rwContender(), s.rwContender(), s.rwContender()
	r1 := s.held(a.RLock(s.ctx))
	r2 := s.held(b.RLock(s.ctx))
	require.True(s, r1.Shared())
	w, _ := s.waits(c.places, c.Lock)
	s.release(r1)
	s.pending(w, r2)
	s.release(r2)
	writer := s.granted(w)
	require.False(s, writer.Shared())
	require.Greater(s, writer.Token(), r2.Token())
	r, _ := s.waits(a.places, a.RLock)
	s.pending(r, writer)
	s.release(writer)
	s.release(s.granted(r))
	require.Empty(s, s.children())
}

func rwOrder(s *suite) {
	a, b, c := s.rwContender(), s.rwContender(), s.rwContender()
	first := s.held(a.RLock(s.ctx))
	w, _ := s.waits(b.places, b.Lock)
	later, _ := s.waits(c.places, c.RLock)
	s.pending(later, first)
	s.release(first)
	writer := s.granted(w)
	s.pending(later, writer)
	s.release(writer)
	s.release(s.granted(later))
}

func rwTry(s *suite) {
	a, b := s.rwContender(), s.rwContender()
	r := s.held(a.TryRLock(s.ctx))
	_, err := b.TryLock(s.ctx)
	var locked *lock.LockedError
	require.ErrorAs(s, err, &locked)
	require.Equal(s, r.Node(), locked.Holder)
	s.release(s.held(b.TryRLock(s.ctx)))
	s.release(r)
	w := s.held(a.TryLock(s.ctx))
	_, err = b.TryRLock(s.ctx)
	require.ErrorAs(s, err, &locked)
	require.Equal(s, w.Node(), locked.Holder)
	s.release(w)
	require.Empty(s, s.children())
}

func rwDowngrade(s *suite) {
	a, b, c := s.rwContender(), s.rwContender(), s.rwContender()
	l := s.held(a.Lock(s.ctx))
	token := l.Token()
	w, _ := s.waits(b.places, b.Lock)
	require.NoError(s, a.Downgrade(s.ctx, l))
	require.True(s, l.Shared())
	require.Equal(s, token, l.Token())
	s.pending(w, l)
	r, _ := s.waits(c.places, c.RLock)
	s.pending(r, l)
	s.release(l)
	writer := s.granted(w)
	require.Greater(s, writer.Token(), token)
	s.release(writer)
	s.release(s.granted(r))
	require.Empty(s, s.children())
}

func rwQueue(s *suite) {
	a, b, c, d := s.rwContender(), s.rwContender(), s.rwContender(), s.rwContender()
	r1 := s.held(a.RLock(s.ctx))
	r2 := s.held(b.RLock(s.ctx))
	w, _ := s.waits(c.places, c.Lock)
	r, _ := s.waits(d.places, d.RLock)
	list, err := d.Queue(s.ctx)
	require.NoError(s, err)
	requireKinds(s, list, recipes.KindReader, recipes.KindReader, recipes.KindWriter, recipes.KindReader)
	for i, contender := range list {
		require.Equal(s, i, contender.Position)
		require.Equal(s, i < 2, contender.Holds)
		s.requireAge(contender)
	}
	s.release(r1)
	s.release(r2)
	s.release(s.granted(w))
	s.release(s.granted(r))
}
