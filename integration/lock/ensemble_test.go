package lock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// trio is an ensemble of three in the roles that a test gives to its servers.
type trio struct {
	*zkserver.Ensemble
	leader, follower, other *zkserver.Server
}

func startTrio(t testing.TB, settings map[string]string) *trio {
	t.Helper()
	e := &trio{Ensemble: zkserver.Start(t, zkserver.Config{Servers: 3, Tick: tick, Settings: settings})}
	e.roles(t)
	return e
}

// roles heals the ensemble and finds out who leads.
func (e *trio) roles(t testing.TB) {
	t.Helper()
	require.NoError(t, e.Heal())
	eventually(t, "one leader and two followers", func() bool {
		leader, err := e.Leader(within(t, patience))
		if err != nil {
			return false
		}
		followers := e.Followers(within(t, patience))
		if len(followers) != 2 {
			return false
		}
		e.leader, e.follower, e.other = leader, followers[0], followers[1]
		return true
	})
}

// Roles of a server.
const (
	leader   = "leader"
	follower = "follower"
)

func (e *trio) in(role string) *zkserver.Server {
	if role == leader {
		return e.leader
	}
	return e.follower
}

// except returns the connect string of the servers but one.
func (e *trio) except(s *zkserver.Server) string {
	var addrs []string
	for _, o := range e.Servers {
		if o != s {
			addrs = append(addrs, o.Addr())
		}
	}
	return strings.Join(addrs, ",")
}

// dialAt returns a client that begins at s and may move to any server.
func (e *trio) dialAt(t testing.TB, s *zkserver.Server, timeout time.Duration, opts ...recipes.Option) *client {
	t.Helper()
	var addrs []string
	var others []*proxy.Proxy
	for _, o := range e.Servers {
		p, err := o.NewProxy()
		require.NoError(t, err)
		if o != s {
			p.Refuse()
			others = append(others, p)
		}
		addrs = append(addrs, p.Addr())
	}
	c := dial(t, strings.Join(addrs, ","), timeout, opts...)
	for _, p := range others {
		require.NoError(t, p.Accept())
	}
	return c
}

// rivals are a holder and the contender that is next.
type rivals struct {
	path   string
	holder *client
	held   hold
	rival  *client
	next   <-chan outcome
}

// contend has n holders, made by holder, and one contender behind each of them,
// made by rival.
func contend(t testing.TB, n int, holder, rival func() *client) []rivals {
	t.Helper()
	all := make([]rivals, n)
	for i := range all {
		r := rivals{path: fmt.Sprintf("%s-%d", zkserver.Path(t), i), holder: holder(), rival: rival()}
		r.held = r.holder.lock(t, r.path)
		r.next = r.rival.lockLater(t, r.path)
		all[i] = r
	}
	for _, r := range all {
		eventually(t, "queued", func() bool {
			// On a machine that stands still for a while the lease may be over.
			return len(children(t, r.rival, r.path)) == 2 || r.held.Err() != nil
		})
	}
	return all
}

// awaitSteady waits until each holder's lease has come to a renewal.
func awaitSteady(t testing.TB, all []rivals) {
	t.Helper()
	for _, r := range all {
		select {
		case <-r.holder.renewed:
		case <-r.held.seen.Done():
		case <-time.After(patience):
			require.FailNow(t, "no renewal")
		}
	}
}

// gap is the time between the end of the holder's belief and the next grant;
// below zero they overlapped.
func (r rivals) gap(t testing.TB) time.Duration {
	t.Helper()
	n := mustHold(t, r.next, patience)
	receive(t, "the end of the lease", r.held.seen.Done(), patience)
	iv := r.held.seen.Interval()
	require.ErrorIs(t, r.held.Err(), recipes.ErrLost)
	require.Greater(t, n.Token(), r.held.Token())
	return r.rival.grantedAt(n.Token()) - max(iv.To, iv.Until)
}

// gaps prints what it measured, and fails if there was an overlap.
func gaps(t testing.TB, report *proof.Report, what string, all []rivals) {
	t.Helper()
	var found []time.Duration
	for _, r := range all {
		found = append(found, r.gap(t))
	}
	slices.Sort(found)
	report.Printf("%s: %d leases ended before the next grant, by %v (least) to %v (most)",
		what, len(found), round(found[0]), round(found[len(found)-1]))
	require.Positive(t, found[0], "a lease was believed in when the next one was given")
}

// since is the time since an instant of belief's clock, for people.
func since(at time.Duration) time.Duration { return round(belief.Now() - at) }
