package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func TestStatOfAParentCountsItsChildren(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		made := a.make("/d", jute.ModePersistent).stat()
		child := a.make("/d/x", jute.ModePersistent).stat()
		st := a.exists("/d").stat()
		require.Equal(s.t, child.Czxid, st.Pzxid)
		require.Equal(s.t, made.Mzxid, st.Mzxid)
		require.EqualValues(s.t, 1, st.NumChildren)
		a.set("/d/x", "other", -1).ok()
		require.Equal(s.t, st, a.exists("/d").stat(), "a child's data are not the parent's affair")
		a.make("/d/x/deep", jute.ModePersistent).ok()
		require.Equal(s.t, st, a.exists("/d").stat(), "nor are grandchildren")
		a.delete("/d/x/deep", -1).ok()
		gone := a.delete("/d/x", -1).zxid
		require.Equal(s.t, gone, a.exists("/d").stat().Pzxid)
	})
}

func TestSetDataChecksTheVersionAndRepliesWithTheNewStat(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.set("/x", "1", 1).is(jute.BadVersion)
		require.EqualValues(s.t, 1, a.set("/x", "22", 0).stat().Version)
		require.EqualValues(s.t, 2, a.set("/x", "333", -1).stat().Version)
		a.set("/x", "", -2).is(jute.BadVersion)
		a.set("/nope", "", -1).is(jute.NoNode)
		a.get("/x").ok()
	})
}

func TestDeleteChecksTheVersionBeforeTheChildren(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.make("/x/y", jute.ModePersistent).ok()
		a.delete("/x", 7).is(jute.BadVersion)
		a.delete("/x", 0).is(jute.NotEmpty)
		a.delete("/x/y", 0).ok()
		a.delete("/x", -1).ok()
		a.delete("/x", -1).is(jute.NoNode)
		a.delete("/x/y", -1).is(jute.NoNode)
	})
}

func TestReadsOfWhatIsNotThere(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.exists("/nope").is(jute.NoNode)
		a.get("/nope").is(jute.NoNode)
		a.list("/nope").is(jute.NoNode)
		a.getACL("/nope").is(jute.NoNode)
		a.do(jute.OpGetChildren, s.reading("/nope", true)).is(jute.NoNode)
		a.do(jute.OpGetAllChildrenNumber, s.path("/nope")).is(jute.NoNode)
		a.do(jute.OpSync, s.path("/nope")).ok()
		a.make("/nope", jute.ModePersistent).ok()
		a.saw()
	})
}

func TestAllChildrenNumberCountsEveryLevel(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, path := range []string{"/d", "/d/a", "/d/b", "/d/a/x", "/d/a/x/y", "/dd"} {
			a.make(path, jute.ModePersistent).ok()
		}
		require.Equal(s.t, &jute.NumberReply{N: 4}, a.do(jute.OpGetAllChildrenNumber, s.path("/d")).ok().body)
		a.do(jute.OpGetAllChildrenNumber, s.path("/d/b")).ok()
		a.do(jute.OpGetAllChildrenNumber, s.path("")).ok()
	})
}

func TestSyncRepliesWithItsPathAndTakesNoTransaction(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.make("/x", jute.ModePersistent).zxid
		require.Equal(s.t, before, a.do(jute.OpSync, s.path("/x")).ok().zxid)
		require.Equal(s.t, before+1, a.make("/y", jute.ModePersistent).zxid)
	})
}

func TestTheServersOwnZnodesAreProtected(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
			a.do(jute.OpDelete, &jute.PathVersionRequest{Path: path, Version: -1})
			a.do(jute.OpDelete, &jute.PathVersionRequest{Path: path, Version: 99})
			a.do(jute.OpCreate, &jute.CreateRequest{Path: path, ACL: jute.OpenACL()})
		}
		a.do(jute.OpGetACL, &jute.PathRequest{Path: "/zookeeper/config"})
		a.do(jute.OpSetData, &jute.SetDataRequest{Path: "/zookeeper/config", Version: -1}).is(jute.NoAuth)
		a.do(jute.OpGetData, &jute.PathWatchRequest{Path: "/zookeeper/config"})
		a.do(jute.OpGetChildren, &jute.PathWatchRequest{Path: "/zookeeper"})
	})
}

func TestRequestsInOneGoAreAnsweredInTheirOrder(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.doAll(
			request(jute.OpCreate, s.creation("/d", "", jute.ModePersistent)),
			request(jute.OpGetChildren2, s.reading("/d", true)),
			request(jute.OpCreate2, s.creation("/d/s-", "", jute.ModeEphemeralSequential)),
			request(jute.OpPing, &jute.Empty{}),
			request(jute.OpCreate2, s.creation("/d/s-", "", jute.ModeEphemeralSequential)),
			request(jute.OpSync, s.path("/d")),
			request(jute.OpGetChildren2, s.reading("/d", false)),
			request(jute.OpDelete, s.version("/d/s-0000000000", -1)),
			request(jute.OpExists, s.reading("/d", false)),
		)
	})
}
