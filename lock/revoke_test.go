package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestHolderIsAskedToGiveTheLockBack(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := mutexAt(t, zkrtest.Dial(t, srv), "/locks/r"), mutexAt(t, zkrtest.Dial(t, srv), "/locks/r")
		require.ErrorIs(t, b.Revoke(t.Context()), lock.ErrNotHeld)
		l := granted(t, async(t, a.Lock), time.Second)
		next := async(t, b.Lock)
		time.Sleep(time.Minute)
		require.NoError(t, b.Revoke(t.Context()))
		<-l.Revoked()
		require.NoError(t, l.Err(), "asking takes nothing away")
		zkrtest.Pending(t, next)
		release(t, l)
		lb := granted(t, next, time.Second)
		select {
		case <-lb.Revoked():
			t.Fatal("the next holder was not asked")
		default:
		}
		release(t, lb)
	})
}

// The watch on the own znode is armed some time after the grant; its read shows
// what came before.
func TestRevocationRightAfterTheGrantIsSeen(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := mutexAt(t, zkrtest.Dial(t, srv), "/locks/r"), mutexAt(t, zkrtest.Dial(t, srv), "/locks/r")
		l := granted(t, async(t, a.Lock), time.Second)
		require.NoError(t, b.Revoke(t.Context()))
		<-l.Revoked()
		release(t, l)
	})
}

// Whether the holder was asked is open then. Asking once more might ask the next
// one, so that is left to whoever knows what he wants.
func TestRevocationWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := mutexAt(t, zkrtest.Dial(t, srv), "/locks/r"), mutexAt(t, zkrtest.Dial(t, srv), "/locks/r")
		l := granted(t, async(t, a.Lock), time.Second)
		next := async(t, a.Lock)
		zkrtest.Pending(t, next)
		asked := srv.On(zktest.Match{Op: zktest.OpSetData})
		asked.DropReply()
		require.ErrorIs(t, b.Revoke(t.Context()), recipes.ErrOutcomeUnknown)
		<-l.Revoked()
		release(t, l)
		l = granted(t, next, time.Second)
		time.Sleep(T)
		require.False(t, isClosed(l.Revoked()))
		release(t, l)
	})
}

// The holder goes between the look at the queue and the word to it.
func TestRevocationReachesWhoeverHoldsWhenItIsSaid(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := mutexAt(t, zkrtest.Dial(t, srv), "/locks/r"), mutexAt(t, zkrtest.Dial(t, srv), "/locks/r")
		l := granted(t, async(t, a.Lock), time.Second)
		next := async(t, a.Lock)
		zkrtest.Pending(t, next)
		node := l.Node()
		srv.On(zktest.Match{Op: zktest.OpSetData}).Call(func(zktest.Request) {
			if err := srv.Delete(node); err != nil {
				t.Error(err)
			}
		})
		require.NoError(t, b.Revoke(t.Context()))
		ended(t, l, T)
		l = granted(t, next, time.Second)
		<-l.Revoked()
		release(t, l)
	})
}
