package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// blink cuts a waiter's connection and lets it come back: the server has
// forgotten its watches, those on its own znode among them.
func (p *party) blink() {
	p.t.Helper()
	p.cable.Cut()
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestWaiterThatReconnectedIsToldOfItsZnodeAfterTheGrant(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, a, b *party){
		"deleted": func(t *testing.T, a, b *party) {
			l := b.hold()
			time.Sleep(T)
			require.NoError(t, a.srv.Delete(l.Node()))
			ended(t, l, 0)
		},
		"asked for it": func(t *testing.T, a, b *party) {
			l := b.hold()
			time.Sleep(T)
			require.NoError(t, a.Revoke(t.Context()))
			synctest.Wait()
			select {
			case <-l.Revoked():
			default:
				t.Fatal("the holder was not asked")
			}
			release(t, l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := join(t, srv), join(t, srv)
				la := a.hold()
				go func() {
					time.Sleep(T / 2)
					b.blink()
					release(t, la)
				}()
				test(t, a, b)
			})
		})
	}
}

func TestNextInLineThatReconnectedNoticesThatItsZnodeWasDeleted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		next := b.wait()
		b.blink()
		before := contenders(srv)
		require.Len(t, before, 2)
		for _, name := range before {
			if full := path + "/" + name; full != la.Node() {
				require.NoError(t, srv.Delete(full))
			}
		}
		after := contenders(srv)
		require.Len(t, after, 2, "it is in the queue again at once")
		require.NotEqual(t, before, after)
		release(t, la)
		release(t, granted(t, next, 0))
	})
}

// However many wait, a reconnect costs each of them no more than that.
func TestReconnectCostsAWaiterOneLookAtItsPredecessor(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := join(t, srv), join(t, srv), join(t, srv)
		la := a.hold()
		second, third := b.wait(), c.wait()
		reads := func(p *party) []int {
			id := p.session()
			return []int{srv.Requests(zktest.OpGetData, id), srv.Requests(zktest.OpExists, id), srv.Requests(zktest.OpGetChildren2, id)}
		}
		srv.ResetRequests()
		b.blink()
		require.Equal(t, []int{1, 1, 0}, reads(b), "of its predecessor's znode and of its own")
		c.blink()
		require.Equal(t, []int{1, 0, 0}, reads(c))
		release(t, la)
		release(t, granted(t, second, 0))
		release(t, granted(t, third, 0))
	})
}

// Who does not wait any more asks the servers for no watch either.
func TestWaiterThatGaveUpListensNoMore(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := join(t, srv), join(t, srv)
		la := a.hold()
		time.Sleep(T) // it watches its znode by now
		require.Error(t, failed(t, b.lock(soon(t, time.Second)), time.Second))
		b.blink()
		holders := srv.Watches(la.Node())
		queue, err := b.Queue(t.Context()) // which reads that znode
		require.NoError(t, err)
		require.Len(t, queue, 1)
		require.Equal(t, holders, srv.Watches(la.Node()))
		release(t, la)
	})
}
