package conformance_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tick is the servers' unit of time. Sessions last two ticks or more.
const (
	tick       = 500 * time.Millisecond
	minTimeout = 2 * tick
	maxTimeout = time.Minute
)

// A pace says how often a server looks for containers to delete: at once, for
// scripts about them, or not within any other script.
type pace time.Duration

const (
	often  = pace(100 * time.Millisecond)
	seldom = pace(time.Hour)
	// aside is seldom on servers apart from those of the scripts: for clients
	// whose sessions may end later, as a transaction in the middle of a script.
	aside = pace(2 * time.Hour)
)

// A kind of server.
type kind struct {
	name  string
	newer bool // it goes by 3.9, not by 3.8
	start func(*testing.T, pace) (addr string)
	// ensemble starts three and puts the leader first.
	ensemble func(*testing.T) (addrs []string)
	// counted starts one with directories whose counters are set.
	counted func(*testing.T) (addr string)
}

// kinds are the servers that must agree. The first is what the others are
// compared with.
var kinds = []kind{
	{name: "ZooKeeper 3.8", start: realServer("3.8"), ensemble: realEnsemble("3.8"), counted: realCounted("3.8")},
	{name: "ZooKeeper 3.9", start: realServer("3.9"), ensemble: realEnsemble("3.9"), counted: realCounted("3.9"), newer: true},
	{name: "zktest", start: inProcess, ensemble: inProcessEnsemble, counted: inProcessCounted},
}

func realServer(version string) func(*testing.T, pace) string {
	return func(t *testing.T, reap pace) string {
		return zkserver.SharedAs(t, zkserver.Config{
			Version: version,
			Tick:    tick,
			JVM:     []string{fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", time.Duration(reap).Milliseconds())},
		}).Servers[0].DirectAddr()
	}
}

func inProcess(t *testing.T, reap pace) string {
	return zktest.Start(t,
		zktest.WithTick(tick),
		zktest.WithSessionTimeouts(minTimeout, maxTimeout),
		zktest.WithContainerCheck(time.Duration(reap)),
	).Addrs()[0]
}

func realEnsemble(version string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		e := zkserver.SharedAs(t, zkserver.Config{Version: version, Tick: tick, Servers: 3})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		leader, err := e.Leader(ctx)
		require.NoError(t, err)
		t.Cleanup(func() {
			for _, s := range e.Servers {
				if t.Failed() {
					t.Logf("%v logged at last:\n%s", s, s.LogTail(40))
				}
			}
		})
		addrs := []string{leader.DirectAddr()}
		for _, follower := range e.Followers(ctx) {
			addrs = append(addrs, follower.DirectAddr())
		}
		keepAwake(t, addrs)
		return addrs
	}
}

func inProcessEnsemble(t *testing.T) []string {
	return zktest.Start(t,
		zktest.WithTick(tick),
		zktest.WithSessionTimeouts(minTimeout, maxTimeout),
		zktest.WithFollowers(2),
	).Addrs()
}
