package main

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const count = 12

// running is a process of the test, in this one.
type running struct {
	*process
	cable *zktest.Cable
	end   func()
}

func start(t *testing.T, srv *zktest.Server, id string) *running {
	t.Helper()
	cable := srv.Cable()
	c, err := recipes.Dial(t.Context(), srv.ConnectString(),
		recipes.WithDialer(cable.DialContext), recipes.WithClock(recipes.MonotonicClock()))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := &process{client: c, id: id, count: count}
	go func() { ended <- p.run(ctx) }()
	return &running{process: p, cable: cable, end: func() {
		cancel()
		require.NoError(t, <-ended)
		c.Close()
	}}
}

// spread waits until the plan has come about, and counts whose partitions there
// are.
func spread(srv *zktest.Server) map[string]int {
	time.Sleep(3 * recipes.DefaultSessionTimeout) // of virtual time
	owners := make(map[string]int)
	for i := range count {
		n, _ := srv.Get(ownersPath + "/" + strconv.Itoa(i))
		owners[string(n.Data)]++
	}
	return owners
}

func TestPartitionsAreSpreadOverWhoIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		a := start(t, srv, "a")
		require.Equal(t, map[string]int{"a": 12}, spread(srv))
		b, c := start(t, srv, "b"), start(t, srv, "c")
		require.Equal(t, map[string]int{"a": 4, "b": 4, "c": 4}, spread(srv))
		a.end()
		require.Equal(t, map[string]int{"b": 6, "c": 6}, spread(srv))
		b.end()
		c.end()
	})
}

func TestPartitionsOfOneThatIsCutOffAreTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		a, b := start(t, srv, "a"), start(t, srv, "b")
		require.Equal(t, map[string]int{"a": 6, "b": 6}, spread(srv))
		a.cable.Blackhole(zktest.BothWays)
		require.Equal(t, map[string]int{"b": 12}, spread(srv))
		a.cable.Restore()
		require.Equal(t, map[string]int{"a": 6, "b": 6}, spread(srv))
		a.end()
		b.end()
	})
}

// A member of whom nobody knows would be given partitions, too.
func TestMemberWhoseCreationWasNotAnsweredIsOneMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		lost := srv.On(zktest.Match{Op: zktest.OpCreate, Path: membersPath + "/*"}).DropReply()
		a := start(t, srv, "a")
		require.Equal(t, map[string]int{"a": 12}, spread(srv))
		require.Equal(t, 1, lost.Hits())
		require.Len(t, srv.Children(membersPath), 1)
		a.end()
	})
}

// The new owner waits for the one before, which takes its time to stop.
func TestPartitionIsTakenUpWhenItHasBeenPutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		a := start(t, srv, "a")
		require.Equal(t, map[string]int{"a": 12}, spread(srv))
		slow := srv.On(zktest.Match{Op: zktest.OpDelete, Path: locksPath + "/1/*"}).Hold()
		b := start(t, srv, "b")
		<-slow.Hit()
		time.Sleep(time.Second) // of virtual time
		require.Len(t, srv.Children(fmt.Sprint(locksPath, "/1")), 2)
		n, _ := srv.Get(ownersPath + "/1")
		require.Equal(t, "a", string(n.Data))
		slow.Release()
		require.Equal(t, map[string]int{"a": 6, "b": 6}, spread(srv))
		a.end()
		b.end()
	})
}
