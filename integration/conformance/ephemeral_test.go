package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func TestClosingASessionDeletesItsEphemeralsInOneTransaction(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/d", jute.ModePersistent).ok()
		a.make("/d/x", jute.ModeEphemeral).ok()
		a.make("/d/y-", jute.ModeEphemeralSequential).ok()
		b.make("/d/z", jute.ModeEphemeral).ok()
		before := b.ping().zxid
		require.Equal(s.t, before+1, a.close().ok().zxid)
		a.cutOff()
		st := b.list("/d").stat()
		require.EqualValues(s.t, 1, st.NumChildren)
		require.Equal(s.t, before+1, st.Pzxid)
		require.Equal(s.t, before+2, b.make("/d/x", jute.ModePersistent).zxid)
	})
}

func TestEphemeralsNameTheirOwner(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		require.Equal(s.t, a.id, a.make("/x", jute.ModeEphemeral).stat().EphemeralOwner)
		require.Equal(s.t, a.id, b.exists("/x").stat().EphemeralOwner)
		require.Zero(s.t, a.make("/c", jute.ModeContainer).stat().EphemeralOwner)
		require.Zero(s.t, a.makeTTL("/t", jute.ModeTTL, 600_000).stat().EphemeralOwner)
	})
}

func TestAnotherSessionMayDeleteAnEphemeral(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModeEphemeral).ok()
		b.delete("/x", -1).ok()
		b.make("/x", jute.ModeEphemeral).ok()
		a.close().ok()
		require.Equal(s.t, b.id, b.exists("/x").stat().EphemeralOwner)
	})
}

func TestGetEphemeralsListsTheOwnOnes(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/d", jute.ModePersistent).ok()
		a.make("/d/x", jute.ModeEphemeral).ok()
		a.make("/dd", jute.ModeEphemeral).ok()
		b.make("/d/y", jute.ModeEphemeral).ok()
		for _, prefix := range []string{"/d", "/d/", "/d/x", "/no", ""} {
			a.do(jute.OpGetEphemerals, s.path(prefix)).ok()
		}
		for _, prefix := range []string{"", "/", " ", "x"} {
			a.do(jute.OpGetEphemerals, &jute.PathRequest{Path: prefix}).ok()
		}
		a.delete("/dd", -1).ok()
		require.Len(s.t, a.do(jute.OpGetEphemerals, s.path("")).ok().body.(*jute.ListReply).Names, 1)
	})
}

func TestExpiryDeletesTheEphemeralsAndEndsTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		b := s.open("b")
		a := s.openFor("a", minTimeout)
		a.make("/x", jute.ModeEphemeral).ok()
		before := b.watchExists("/x").ok().zxid
		b.awaits(s.deleted("/x"))
		require.Equal(s.t, before+1, b.ping().zxid, "one transaction")
		a.cutOff()
		c := a.resume()
		require.Zero(s.t, c.Session.SessionID, "expired")
		require.Zero(s.t, c.Session.TimeoutMillis)
		require.Equal(s.t, make([]byte, 16), c.Session.Password)
		c.cutOff()
	})
}

func TestPingsKeepASessionAlive(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.openFor("a", minTimeout)
		a.make("/x", jute.ModeEphemeral).ok()
		for range 6 {
			time.Sleep(minTimeout / 3) // it is time itself that is tested
			a.ping()
		}
		a.exists("/x").ok()
	})
}

func TestContainerGoesWhenItsLastChildHasGone(t *testing.T) {
	onAllAt(t, often, func(s *script) {
		a := s.open("a")
		a.make("/never-used", jute.ModeContainer).ok()
		a.do(jute.OpCreateContainer, s.creation("/c", "data", jute.ModeContainer)).ok()
		a.make("/c/x", jute.ModePersistent).ok()
		a.watchExists("/c").ok()
		before := a.delete("/c/x", -1).ok().zxid
		a.awaits(s.deleted("/c"))
		require.Equal(s.t, before+1, a.ping().zxid, "one transaction")
		a.exists("/never-used").ok()
	})
}

func TestNodeWithATimeToLiveGoesWhenItHasNoChildrenAndNoChange(t *testing.T) {
	onAllAt(t, often, func(s *script) {
		a := s.open("a")
		a.makeTTL("/with-child", jute.ModeTTL, 100).ok()
		a.make("/with-child/x", jute.ModePersistent).ok()
		a.makeTTL("/s-", jute.ModeSequentialTTL, 100).ok()
		a.watchExists("/s-0000000001").ok()
		a.awaits(s.deleted("/s-0000000001"))
		a.exists("/with-child").ok()
	})
}

func TestTimesToLiveOutOfRangeAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.makeTTL("/x", jute.ModeTTL, 0).is(jute.BadArguments)
		a.makeTTL("/x", jute.ModeTTL, -1).is(jute.BadArguments)
		a.makeTTL("/x", jute.ModeTTL, 1<<40).is(jute.BadArguments)
		a.makeTTL("/x", jute.ModeTTL, 1<<40-1).ok()
	})
}
