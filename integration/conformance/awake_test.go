package conformance_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// keepAwake pings each of the servers now and then until the test ends. In an
// ensemble of 3.6.0 to 3.8.0 the thread that answers may miss that there is
// something to answer, and sleeps until the next request of anybody comes in:
// ZOOKEEPER-4537. The bare client of a script, which asks one thing at a time and
// sends no pings, would wait for ever.
func keepAwake(t *testing.T, addrs []string) {
	t.Helper()
	var wakers sync.WaitGroup
	done := make(chan struct{})
	for _, addr := range addrs {
		c, err := bareclient.New(addr, maxTimeout)
		require.NoError(t, err)
		wakers.Go(func() {
			defer c.Hangup()
			every := time.NewTicker(100 * time.Millisecond)
			defer every.Stop()
			for {
				op := jute.OpPing
				select {
				case <-every.C:
				case <-done:
					op = jute.OpCloseSession
				}
				if _, err := c.Send(request(op, &jute.Empty{})); err != nil {
					return // what is wrong with the server, the script will see
				}
				if _, err := c.Receive(); err != nil || op == jute.OpCloseSession {
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		close(done)
		wakers.Wait()
	})
}
