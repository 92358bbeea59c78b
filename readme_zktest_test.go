package zkrecipes_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestLostSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // on virtual time, a minute takes a millisecond
		srv := zktest.Start(t, zktest.WithInMemory())
		c, err := recipes.Dial(t.Context(), srv.ConnectString(), // where nothing listens: it is in memory
			recipes.WithDialer(srv.DialContext), recipes.WithClock(recipes.MonotonicClock()))
		require.NoError(t, err)
		defer c.Close() // what is left running is a "deadlock" to synctest

		mu, err := lock.NewMutex(c, "/locks/report") // or your service, made with c
		require.NoError(t, err)
		l, err := mu.Lock(t.Context())
		require.NoError(t, err)
		srv.ExpireSession(l.Session().ID())
		<-l.Done()
		require.ErrorIs(t, l.Err(), recipes.ErrLost)
		_, err = mu.Lock(t.Context()) // in the next session
		require.NoError(t, err)
	})
}
