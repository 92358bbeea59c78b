package recipetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Mutex tests lock.Mutex.
func Mutex(t *testing.T, dial Dialer) {
	runAll(t, dial, []fact{
		{"HeldByOneAtATime", mutexHeldByOne},
		{"ServesInTheOrderOfArrival", mutexOrder},
		{"TokensGrowAlsoWithANewDirectory", mutexTokens},
		{"TryLockSaysWhoIsInTheWay", mutexTry},
		{"QueueListsTheHolderFirst", mutexQueue},
		{"CancelledWaitLeavesNoZnode", mutexCancel},
		{"DeadContextGetsNothing", mutexDeadContext},
		{"ReleaseLeavesNoZnodeAndIsSaidOnce", mutexRelease},
		{"DoReleasesWhateverItsFunctionReturns", mutexDo},
		{"DirectoryDeletedEndsTheLeaseAndNotTheWaits", mutexDirectoryDeleted},
		{"VerifyAsksTheServers", mutexVerify},
		{"TxnCommitsUnderTheLeaseOnly", mutexTxn},
		{"ClosedClientGivesWay", mutexClose},
	})
}

// contender is a mutex of a client of its own.
type contender struct {
	*lock.Mutex
	s      *suite
	client *recipes.Client
	places places
}

func (s *suite) contender(opts ...recipes.Option) *contender {
	s.Helper()
	c := &contender{s: s, client: s.dial(s.T, opts...), places: make(places, 1)}
	var err error
	c.Mutex, err = lock.NewMutex(c.client, s.path, c.places.option())
	require.NoError(s, err)
	return c
}

// hold takes the lock, which nobody has.
func (c *contender) hold() *recipes.Lease {
	c.s.Helper()
	l, err := c.Lock(c.s.ctx)
	require.NoError(c.s, err)
	return l
}

// queue asks for the lock in the background and returns when it has its place.
func (c *contender) queue() (<-chan outcome, lock.Wait) {
	c.s.Helper()
	return c.s.waits(c.places, c.Lock)
}

func mutexHeldByOne(s *suite) {
	const clients, rounds = 4, 8
	var inside, total atomic.Int32
	var wg sync.WaitGroup
	for range clients {
		c := s.contender()
		wg.Go(func() {
			for range rounds {
				err := c.Do(s.ctx, func(context.Context, *recipes.Lease) error {
					defer inside.Add(-1)
					if n := inside.Add(1); n != 1 {
						s.Errorf("%d inside", n)
					}
					total.Add(1)
					return nil
				})
				if err != nil {
					s.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(s, clients*rounds, total.Load())
	require.Empty(s, s.children())
}

func mutexOrder(s *suite) {
	holder := s.contender().hold()
	const waiters = 5
	var waits []<-chan outcome
	for i := range waiters {
		wait, place := s.contender().queue()
		require.Equal(s, i+1, place.Position)
		require.Equal(s, holder.Token(), place.Holder.Token)
		waits = append(waits, wait)
	}
	for i, next := range waits {
		for _, later := range waits[i:] {
			s.pending(later, holder)
		}
		s.release(holder)
		got := s.granted(next)
		require.Greater(s, got.Token(), holder.Token())
		holder = got
	}
	s.release(holder)
}

func mutexTokens(s *suite) {
	a, b := s.contender(), s.contender()
	var last fence.Token
	grows := func(c *contender) {
		l := c.hold()
		require.Greater(s, l.Token(), last)
		last = l.Token()
		s.release(l)
	}
	for range 3 {
		grows(a)
		grows(b)
		s.deleteAll(s.session())
	}
	grows(a)
}

func mutexTry(s *suite) {
	a, b := s.contender(), s.contender()
	holder, err := a.TryLock(s.ctx)
	require.NoError(s, err)
	_, err = b.TryLock(s.ctx)
	require.ErrorIs(s, err, lock.ErrLocked)
	var locked *lock.LockedError
	require.ErrorAs(s, err, &locked)
	require.Equal(s, s.path, locked.Path)
	require.Equal(s, holder.Node(), locked.Holder)
	require.Len(s, s.children(), 1, "who tries in vain leaves nothing")
	s.release(holder)
	holder, err = b.TryLock(s.ctx)
	require.NoError(s, err)
	s.release(holder)
}

func mutexQueue(s *suite) {
	a, b := s.contender(recipes.WithIdentity("first")), s.contender(recipes.WithIdentity("second"))
	empty, err := a.Queue(s.ctx)
	require.NoError(s, err)
	require.Empty(s, empty)
	holder := a.hold()
	wait, _ := b.queue()
	list, err := b.Queue(s.ctx)
	require.NoError(s, err)
	require.Len(s, list, 2)
	require.Equal(s, holder.Node(), list[0].Path)
	require.Equal(s, holder.Token(), list[0].Token)
	require.Equal(s, holder.Session().ID(), list[0].Session)
	for i, identity := range []string{"first", "second"} {
		require.Equal(s, i, list[i].Position)
		require.Equal(s, identity, list[i].Identity)
		require.Equal(s, i == 0, list[i].Holds)
		require.NotZero(s, list[i].Created)
		s.requireAge(list[i])
	}
	requireKinds(s, list, recipes.KindMutex, recipes.KindMutex)
	stranger, err := s.contender().Queue(s.ctx)
	require.NoError(s, err)
	require.Zero(s, stranger[0].Age, "who has written nothing does not know the servers' time")
	s.release(holder)
	next := s.granted(wait)
	require.Equal(s, list[1].Token, next.Token())
	s.release(next)
}

func mutexCancel(s *suite) {
	a, b, c := s.contender(), s.contender(), s.contender()
	holder := a.hold()
	ctx, cancel := context.WithCancel(s.ctx)
	left, _ := s.waits(b.places, func(context.Context) (*recipes.Lease, error) { return b.Lock(ctx) })
	stays, place := c.queue()
	require.Equal(s, 2, place.Position)
	cancel()
	require.ErrorIs(s, s.awaited(left).err, context.Canceled)
	require.Equal(s, 1, s.place(c.places).Position, "who leaves is not waited for")
	require.Len(s, s.children(), 2)
	s.pending(stays, holder)
	s.release(holder)
	s.release(s.granted(stays))
	require.Empty(s, s.children())
}

func mutexDeadContext(s *suite) {
	a := s.contender()
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := a.Lock(ctx)
	require.ErrorIs(s, err, context.Canceled)
	_, err = a.TryLock(ctx)
	require.ErrorIs(s, err, context.Canceled)
	s.release(a.hold())
	require.Empty(s, s.children())
}

func mutexRelease(s *suite) {
	a := s.contender()
	l := a.hold()
	node := l.Node()
	_, there, err := s.session().Exists(s.ctx, node)
	require.NoError(s, err)
	require.True(s, there)
	s.release(l)
	_, there, err = s.session().Exists(s.ctx, node)
	require.NoError(s, err)
	require.False(s, there)
	select {
	case <-l.Done():
	default:
		require.Fail(s, "a released lease is not done")
	}
	require.NoError(s, l.Release(s.ctx), "again")
	require.ErrorIs(s, l.Verify(s.ctx), recipes.ErrReleased)
}

func mutexDo(s *suite) {
	a, b := s.contender(), s.contender()
	failure := errors.New("failure")
	for _, want := range []error{nil, failure} {
		err := a.Do(s.ctx, func(ctx context.Context, l *recipes.Lease) error {
			require.NoError(s, ctx.Err())
			_, err := b.TryLock(s.ctx)
			require.ErrorIs(s, err, lock.ErrLocked)
			return want
		})
		require.ErrorIs(s, err, want)
		require.Empty(s, s.children())
	}
}

func mutexDirectoryDeleted(s *suite) {
	a, b := s.contender(), s.contender()
	holder := a.hold()
	wait, _ := b.queue()
	s.deleteAll(s.session())
	select {
	case <-holder.Done():
	case <-s.ctx.Done():
		require.FailNow(s, "the holder is not told")
	}
	require.ErrorIs(s, holder.Err(), recipes.ErrLost)
	require.ErrorIs(s, holder.Release(s.ctx), recipes.ErrLost)
	next := s.awaited(wait)
	require.NoError(s, next.err)
	require.Greater(s, next.lease.Token(), holder.Token())
	// The waiter's place went in the same instant as what was before it. It
	// either stands in the queue again, or was granted what is gone and is told
	// so like the holder.
	if err := next.lease.Release(s.ctx); err != nil {
		require.ErrorIs(s, err, recipes.ErrLost)
		s.release(b.hold())
	}
	require.Empty(s, s.children())
}

func mutexVerify(s *suite) {
	l := s.contender().hold()
	require.NoError(s, l.Verify(s.ctx))
	require.NoError(s, s.session().Delete(s.ctx, l.Node(), -1))
	require.ErrorIs(s, l.Verify(s.ctx), recipes.ErrLost)
	require.ErrorIs(s, l.Err(), recipes.ErrLost)
}

func mutexTxn(s *suite) {
	l := s.contender().hold()
	data := s.path + "-data"
	acl := recipes.WorldACL(recipes.PermAll)
	_, err := l.Txn(s.ctx, recipes.CreateOp(data, []byte("1"), recipes.Persistent, acl))
	require.NoError(s, err)
	witness := s.session()
	defer func() { require.NoError(s, witness.Delete(s.ctx, data, -1)) }()

	require.NoError(s, witness.Delete(s.ctx, l.Node(), -1))
	_, err = l.Txn(s.ctx, recipes.SetOp(data, []byte("2"), -1))
	require.ErrorIs(s, err, recipes.ErrLost)
	got, _, err := witness.Get(s.ctx, data)
	require.NoError(s, err)
	require.Equal(s, "1", string(got))
}

func mutexClose(s *suite) {
	a, b := s.contender(), s.contender()
	holder := a.hold()
	wait, _ := b.queue()
	a.client.Close()
	require.Error(s, holder.Err())
	next := s.granted(wait)
	require.Greater(s, next.Token(), holder.Token())
	s.release(next)
}
