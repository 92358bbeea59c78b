package lock_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// The end of a session is one transaction that names all its ephemeral znodes.
// Beyond about 26,000 locks it would be larger than a server accepts when it
// reads its log, and no server of the ensemble would start again.
func TestServersSurviveTheEndOfAProcessThatHeldManyLocks(t *testing.T) {
	parallel(t)
	locks := proof.Size(6_000, 60_000)
	budget := proof.Size(52<<10, 512<<10)
	timeout := proof.Size(4*time.Second, 15*time.Second)
	report := proof.New(t, "lock-many", "One process that holds 60,000 locks, and its end")
	e := zkserver.Start(t, zkserver.Config{
		Servers: proof.Size(1, 3), Tick: tick, Storage: proof.Size(zkserver.Memory, zkserver.Disk),
	})
	const root = "/locks"
	for _, end := range []string{"killed", "closed"} {
		p := startHolder(t, e.Connect(), "-timeout", timeout.String(), "-budget", fmt.Sprint(budget))
		begin := belief.Now()
		p.send(fmt.Sprintf("many %s-%s %d", root, end, locks))
		held := p.await(belief.Done, proof.Size(5*time.Minute, 20*time.Minute))
		require.Empty(t, held.Err)
		require.Equal(t, locks, held.N, "all are held at once")
		took := belief.Now() - begin
		require.Equal(t, float64(locks), ephemerals(t, e.Servers[0]))
		bytes := locks * len(fmt.Sprintf("%s-%s/00000/_c_00000000-0000-0000-0000-000000000000-lock-0000000000", root, end))
		require.GreaterOrEqual(t, int(held.Session)*budget, bytes)
		report.Printf("%d locks (%d KiB of paths) in %v, in %d sessions of at most %d KiB each; the process takes %s",
			locks, bytes>>10, round(took), held.Session, budget>>10, resident(p))

		ended := belief.Now()
		if end == "killed" {
			p.Kill()
		} else {
			require.NoError(t, p.CloseInput())
			require.NoError(t, p.Wait(within(t, patience)))
		}
		for _, s := range e.Servers {
			eventually(t, "the locks are gone", func() bool { return ephemerals(t, s) == 0 })
		}
		report.Printf("process %s: all locks gone after %v", end, since(ended))
		restarted := belief.Now()
		require.NoError(t, e.Restart(within(t, patience)))
		report.Printf("all servers killed and started again: they serve after %v", since(restarted))
		c := dial(t, e.Connect(), timeout)
		h := c.lock(t, fmt.Sprintf("%s-%s/%05d", root, end, locks))
		require.NoError(t, h.Release(within(t, patience)))
	}
}

func ephemerals(t *testing.T, s *zkserver.Server) float64 {
	t.Helper()
	m, err := s.Metrics(within(t, patience))
	require.NoError(t, err)
	n, ok := m["zk_ephemerals_count"]
	require.True(t, ok)
	return n
}

// resident is what the process takes of the machine's memory.
func resident(p process) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return "an unknown amount of memory"
	}
	for line := range strings.Lines(string(status)) {
		if rss, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(rss)
		}
	}
	return "an unknown amount of memory"
}
