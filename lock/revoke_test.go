package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
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
