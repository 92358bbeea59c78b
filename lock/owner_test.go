package lock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A znode is ours if our session owns it, and not by its name. CURATOR-498,
// CURATOR-696: a name can come back in another session.

// stranger is a session that makes znodes under names that are not its own.
type stranger struct {
	t testing.TB
	s *recipes.Session
}

func newStranger(t testing.TB, srv *zktest.Server) stranger {
	return stranger{t, zkrtest.Session(t, zkrtest.Dial(t, srv))}
}

// takes makes an ephemeral znode of exactly that path.
func (o stranger) takes(node string) {
	o.t.Helper()
	_, err := o.s.Create(o.t.Context(), node, nil, recipes.Ephemeral, nil)
	require.NoError(o.t, err)
}

// replaces takes the place of a znode that it deletes.
func (o stranger) replaces(node string) {
	o.t.Helper()
	require.NoError(o.t, o.s.Delete(o.t.Context(), node, -1))
	o.takes(node)
}

func (o stranger) deletes(node string) {
	o.t.Helper()
	require.NoError(o.t, o.s.Delete(o.t.Context(), node, -1))
}

// requireOurs states that the lease's znode belongs to its session.
func requireOurs(t testing.TB, srv *zktest.Server, l *recipes.Lease) {
	t.Helper()
	z, ok := srv.Get(l.Node())
	require.True(t, ok)
	require.Equal(t, l.Session().ID(), z.Stat.EphemeralOwner)
}

// The creation was lost, and a stranger has a znode with its unique id.
func TestZnodeOfAStrangerWithOurIdIsNotTakenForTheLostOne(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		other := newStranger(t, srv)
		var theirs string
		lost := srv.On(zktest.Match{Path: creation}).Call(func(r zktest.Request) {
			theirs = r.Path + "0000000000"
			other.takes(theirs)
			a.cable.Cut() // and the request is lost
		})
		next := a.lock(t.Context())
		<-lost.Hit()
		time.Sleep(T)
		zkrtest.Pending(t, next)
		require.Len(t, contenders(srv), 2)
		other.deletes(theirs)
		l := granted(t, next, 0)
		requireOurs(t, srv, l)
		release(t, l)
		require.Empty(t, contenders(srv))
	})
}

// Only the reply was lost: znodes of a stranger do not hide ours, wherever they
// stand in the listing.
func TestZnodesOfAStrangerWithOurIdDoNotHideOurs(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, a *party) {
		other := newStranger(t, srv)
		lost := srv.On(zktest.Match{Path: creation}).DropReply()
		a.cable.Refuse(true)
		next := a.lock(t.Context())
		<-lost.Hit()
		ours := contenders(srv)
		require.Len(t, ours, 1)
		name := path + "/" + ours[0][:strings.LastIndex(ours[0], "-")+1]
		for i := range 8 {
			other.takes(fmt.Sprintf("%s%010d", name, 1000+i))
		}
		a.cable.Refuse(false)
		l := granted(t, next, 2*time.Second) // made before the stranger's
		require.Equal(t, path+"/"+ours[0], l.Node())
		release(t, l)
		require.Len(t, contenders(srv), 8)
	})
}

// Who is next in line has lost its place to a stranger while it was cut off.
func TestWaiterWhoseZnodeBecameAStrangersQueuesAgain(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, other := join(t, srv), join(t, srv), newStranger(t, srv)
		la := a.hold()
		next := b.wait()
		queue, err := a.Queue(t.Context())
		require.NoError(t, err)
		place := queue[1].Path

		b.cable.Refuse(true)
		b.cable.Cut()
		other.replaces(place)
		b.cable.Refuse(false)
		time.Sleep(2 * time.Second)
		queue, err = a.Queue(t.Context())
		require.NoError(t, err)
		require.Equal(t, b.session(), queue[len(queue)-1].Session)
		release(t, la)
		lb := granted(t, next, 0)
		requireOurs(t, srv, lb)
		release(t, lb)
	})
}

// A contender that is first reads its token from its znode, which is a
// stranger's by then.
func TestNothingIsGrantedOnAZnodeThatBecameAStrangers(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, other := join(t, srv), newStranger(t, srv)
		srv.On(zktest.Match{Op: zktest.OpExists, Session: a.session(), Path: path + "/*"}).Call(func(r zktest.Request) {
			other.replaces(r.Path)
		})
		l := a.hold()
		requireOurs(t, srv, l)
		release(t, l)
	})
}

// A holder learns of it where it watches its znode, and after it was cut off.
func TestHolderIsToldThatItsZnodeBecameAStrangers(t *testing.T) {
	for name, cutOff := range map[string]bool{"watching": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, other := join(t, srv), newStranger(t, srv)
				la := a.hold()
				time.Sleep(T)
				if cutOff {
					a.cable.Refuse(true)
					a.cable.Cut()
				}
				other.replaces(la.Node())
				a.cable.Refuse(false)
				ended(t, la, 2*time.Second)
				require.ErrorIs(t, la.Err(), recipes.ErrLost)
			})
		})
	}
}
