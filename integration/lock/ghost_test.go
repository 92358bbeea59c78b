package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// The caller is gone before it is known whether its contender was made; the
// session lives on, and with it the znode, unless somebody deletes it. Sources:
// samuel#229, samuel PR#237, CURATOR-45, CURATOR-79 (curator#600), CURATOR-62
// (curator#583), zk-ruby/zk#51.
func TestContenderMadeForACallerThatIsGoneIsDeleted(t *testing.T) {
	// Each does harm to the create and returns how to end it.
	faults := map[string]func(*proxy.Proxy) (proxy.Verdict, func() error){
		"reply lost and no way back": func(p *proxy.Proxy) (proxy.Verdict, func() error) {
			p.Refuse()
			return proxy.DropReply, p.Accept
		},
		"request lost and no way back": func(p *proxy.Proxy) (proxy.Verdict, func() error) {
			p.Refuse()
			return proxy.DropRequest, p.Accept
		},
		"reply late": func(p *proxy.Proxy) (proxy.Verdict, func() error) {
			p.ToClient().Stall()
			return proxy.Forward, func() error { p.Pass(); return nil }
		},
		"request late": func(p *proxy.Proxy) (proxy.Verdict, func() error) {
			p.ToServer().Stall()
			return proxy.Forward, func() error { p.Pass(); return nil }
		},
		"reply late, then lost": func(p *proxy.Proxy) (proxy.Verdict, func() error) {
			p.ToClient().Stall()
			return proxy.Forward, func() error { p.Cut(); p.Pass(); return nil }
		},
	}
	const timeout = 20 * time.Second
	s := zkserver.Shared(t).Servers[0]
	w := witness(t, s)
	for name, fault := range faults {
		for _, op := range []jute.Op{jute.OpCreate, jute.OpMulti} {
			t.Run(name+", "+op.String(), func(t *testing.T) {
				c, p := dialAlone(t, s, timeout)
				path := zkserver.Path(t)
				w.put(t, path, "")
				m := c.mutex(t, path)
				if op == jute.OpMulti { // an empty directory that is known to carry no data
					for range 2 {
						l, err := m.Lock(within(t, soon))
						require.NoError(t, err)
						require.NoError(t, l.Release(within(t, soon)))
					}
				}
				session := c.session(t)
				ended := make(chan func() error, 1)
				p.Intercept(func(r proxy.Request) proxy.Verdict {
					if r.Op != op || len(ended) > 0 {
						return proxy.Forward
					}
					verdict, end := fault(p)
					ended <- end
					return verdict
				})
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				_, err := m.Lock(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				p.Intercept(nil)
				require.NoError(t, (<-ended)())
				// The barrier goes behind whatever the client still has to say.
				require.NoError(t, session.Barrier(within(t, soon)))
				eventually(t, "nothing is left", func() bool { return len(children(t, w, path)) == 0 })
				require.NoError(t, session.Barrier(within(t, soon)), "its end did not clean up")
				require.Empty(t, children(t, w, path))
				l, err := m.Lock(within(t, soon))
				require.NoError(t, err)
				require.NoError(t, l.Release(within(t, soon)))
			})
		}
	}
}
