package conformance_test

import (
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// tick is the servers' unit of time. Sessions last two ticks or more.
const (
	tick       = 500 * time.Millisecond
	minTimeout = 2 * tick
	maxTimeout = time.Minute
	// reapEvery is how often containers are looked at.
	reapEvery = 300 * time.Millisecond
)

// A kind of server.
type kind struct {
	name  string
	newer bool // it goes by 3.9, not by 3.8
	start func(*testing.T) (addr string)
}

// kinds are the servers that must agree. The first is what the others are
// compared with.
var kinds = []kind{
	{name: "ZooKeeper 3.8", start: func(t *testing.T) string { return realServer(t, "3.8") }},
	{name: "ZooKeeper 3.9", start: func(t *testing.T) string { return realServer(t, "3.9") }, newer: true},
	{name: "zktest", start: inProcess},
}

func realServer(t *testing.T, version string) string {
	return zkserver.SharedAs(t, zkserver.Config{
		Version: version,
		Tick:    tick,
		JVM:     []string{"-Dznode.container.checkIntervalMs=300", "-Dzookeeper.extendedTypesEnabled=true"},
	}).Servers[0].DirectAddr()
}

func inProcess(t *testing.T) string {
	return zktest.Start(t,
		zktest.WithTick(tick),
		zktest.WithSessionTimeouts(minTimeout, maxTimeout),
		zktest.WithContainerCheck(reapEvery),
	).Addrs()[0]
}
