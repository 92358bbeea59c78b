package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// What is kept is the names in one directory, and of the contenders as many as are
// shown: with 100,000, and without the race detector, ls takes 51 MiB at most, and
// queue 118.
func TestALongQueueTakesLittleMemory(t *testing.T) {
	t.Parallel()
	const many, most = 10_000, 120 << 20
	srv := zktest.Start(t, zktest.WithTick(session))
	require.NoError(t, srv.Create("/locks", nil))
	require.NoError(t, srv.Create(path, nil))
	for i := range many {
		require.NoError(t, srv.Create(fmt.Sprintf("%s/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-%010d", path, i), nil))
	}
	require.NoError(t, srv.SetData(path+"/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-0000000000", make([]byte, 1<<20-2000)))
	srv.ResetRequests()
	// A process begins with the most that the one which forked it has had.
	version := zkr(t, "version")
	require.Equal(t, 0, version.exit())
	least := peakOf(version)
	for _, args := range [][]string{{"ls", "/"}, {"queue", "--limit", "10", path}, {"queue", "--json", "--limit", "10", path}} {
		p := zkr(t, append([]string{args[0], "--connect", srv.ConnectString()}, args[1:]...)...)
		require.Equal(t, 0, p.exit(), p.stderr.rest())
		peak := peakOf(p)
		t.Logf("zkr %s: %d MiB at most", args[0], peak>>20)
		require.Less(t, peak, least+most)
	}
	require.LessOrEqual(t, srv.Requests(zktest.OpGetData, 0), 30)
}

// peakOf returns the most memory that a process that has ended has had.
func peakOf(p *process) int64 {
	return int64(p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
}
