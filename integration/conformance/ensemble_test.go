package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// Sessions of ensembles last long enough for a busy machine.
const ensembleTimeout = 20 * time.Second

// The servers of an ensemble.
const (
	leader = iota
	follower
	otherFollower
)

// moved resumes the session at another server. One that lags turns away a
// client that has seen more than it has, without a word, and is asked again.
func (a *session) moved(server int) *session {
	a.s.t.Helper()
	noted := len(a.s.notes)
	for deadline := time.Now().Add(ensembleTimeout / 2); time.Now().Before(deadline); {
		if b := a.resumeAt(server, resumption(a.id, a.password, a.zxid)); b != nil {
			require.Equal(a.s.t, a.id, b.Session.SessionID)
			return b
		}
		a.s.notes = a.s.notes[:noted]
	}
	require.FailNow(a.s.t, "turned away for too long")
	return nil
}

func TestTransactionsCountFromTheirEpoch(t *testing.T) {
	onEnsembles(t, func(s *script) {
		require.NotZero(s.t, s.base>>32)
		require.Equal(s.t, s.base>>32, s.open("a").make("/x", jute.ModePersistent).zxid>>32)
	})
}

func TestFollowerServesItsClientsLikeALeader(t *testing.T) {
	onEnsembles(t, func(s *script) {
		a := s.openAt(follower, "a", ensembleTimeout)
		a.watchList("").ok()
		a.make("/d", jute.ModePersistent).ok()
		require.Equal(s.t, []event{s.newChildren("")}, a.pending, "an own change fires before its reply")
		a.make("/d/s-", jute.ModeEphemeralSequential).named("/d/s-0000000000")
		a.make("/no/x", jute.ModePersistent).is(jute.NoNode)
		a.multi(op(jute.OpCheck, s.version("/d", 0)), op(jute.OpSetData, s.setting("/d", "", -1))).codes(jute.OK, jute.OK)
		a.doAll(
			request(jute.OpCreate, s.creation("/d/x", "", jute.ModePersistent)),
			request(jute.OpGetChildren2, s.reading("/d", false)),
			request(jute.OpDelete, s.version("/d/x", -1)),
			request(jute.OpSync, s.path("/d")),
			request(jute.OpExists, s.reading("/d/x", false)),
		)
	})
}

func TestSyncBringsAFollowerUpToDate(t *testing.T) {
	onEnsembles(t, func(s *script) {
		a, b := s.open("a"), s.openAt(follower, "b", ensembleTimeout)
		for range 20 {
			name := a.make("/s-", jute.ModeSequential).ok().body.(*jute.CreateReply).Path
			b.do(jute.OpSync, s.path("")).ok()
			b.do(jute.OpExists, &jute.PathWatchRequest{Path: name}).ok()
		}
	})
}

func TestWatchAtAFollowerTellsOfChangesElsewhere(t *testing.T) {
	onEnsembles(t, func(s *script) {
		a, b := s.openAt(follower, "a", ensembleTimeout), s.openAt(otherFollower, "b", ensembleTimeout)
		b.watchExists("/x").is(jute.NoNode)
		a.make("/x", jute.ModeEphemeral).ok()
		b.awaits(s.created("/x"))
		b.watchData("/x").ok()
		a.close().ok()
		b.awaits(s.deleted("/x"))
	})
}

// What a client that has moved on left behind in its old connection cannot
// happen any more.
func TestWriteOfASessionThatHasMovedIsNeverDone(t *testing.T) {
	onEnsembles(t, func(s *script) {
		a := s.openAt(follower, "a", ensembleTimeout)
		a.make("/x", jute.ModeEphemeral).ok()
		b := a.moved(otherFollower)
		b.make("/y", jute.ModeEphemeral).ok()
		_, err := a.Send(request(jute.OpCreate, s.creation("/late", "", jute.ModeEphemeral)))
		require.NoError(s.t, err)
		a.cutOff()
		b.do(jute.OpSync, s.path("")).ok()
		b.exists("/late").is(jute.NoNode)
		b.make("/z", jute.ModeEphemeral).ok()
	})
}

func TestSessionClosedAtOneServerEndsItsConnectionsAtOthers(t *testing.T) {
	onEnsembles(t, func(s *script) {
		a := s.openAt(follower, "a", ensembleTimeout)
		a.make("/x", jute.ModeEphemeral).ok()
		b := a.moved(otherFollower)
		b.close().ok()
		a.cutOff()
		b.cutOff()
		c := s.open("c")
		c.exists("/x").is(jute.NoNode)
	})
}
