package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func TestCreateRepliesWithThePathAloneAndCreate2WithTheStatToo(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.do(jute.OpCreate, s.creation("/x", "data", jute.ModePersistent)).named("/x")
		st := a.do(jute.OpCreate2, s.creation("/y", "data", jute.ModePersistent)).named("/y").stat()
		require.EqualValues(s.t, 4, st.DataLength)
	})
}

func TestNilAndEmptyDataAreKeptApart(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.do(jute.OpCreate, &jute.CreateRequest{Path: s.at("/nil"), ACL: jute.OpenACL()}).ok()
		a.do(jute.OpCreate, &jute.CreateRequest{Path: s.at("/empty"), Data: []byte{}, ACL: jute.OpenACL()}).ok()
		a.get("/nil").ok()
		a.get("/empty").ok()
		a.do(jute.OpSetData, &jute.SetDataRequest{Path: s.at("/empty"), Version: -1}).ok()
		a.get("/empty").ok()
	})
}

func TestCreateNeedsAParentAndAFreeName(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x/y", jute.ModePersistent).is(jute.NoNode)
		a.make("/x", jute.ModePersistent).ok()
		a.make("/x", jute.ModePersistent).is(jute.NodeExists)
		a.make("/x", jute.ModeEphemeral).is(jute.NodeExists)
		a.make("/x/y", jute.ModePersistent).ok()
	})
}

func TestFailedWritesAreTransactionsToo(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.make("/x", jute.ModePersistent).zxid
		a.make("/x", jute.ModePersistent).is(jute.NodeExists)
		a.delete("/nope", -1).is(jute.NoNode)
		require.Equal(s.t, before+3, a.make("/y", jute.ModePersistent).zxid)
	})
}

// A path goes wrong in a different way in each kind of request.
func TestMalformedPathsGetTheSameCodes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, path := range []string{
			"/x/", "//", "/x//y", "/x/.", "/x/..", "/x/./y", "/x/../y", "/./x", "/x/...", "/x/.a", "/x/a.",
			"/x/\x01", "/x/\x1f", "/x/\x20", "/x/\x7f", "/x/\u009f", "/x/\u00a0", "/x/\ud7ff", "/x/\ue000", "/x/\uf8ff",
			"/x/\uf900", "/x/\uffef", "/x/\ufff0", "/x/y\x00z", "/x/\xff",
			"/no/x/", "/no//x", "/x/" + strings.Repeat("n", 1000),
		} {
			a.everyRequestWith(s.at(path))
		}
	})
}

func TestPathsOutsideTheTreeGetTheSameCodes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, path := range []string{"x", "x/y", "/\x00", "."} {
			a.everyRequestWith(path)
		}
	})
}

// everyRequestWith sends every kind of request about a path.
func (a *session) everyRequestWith(path string) {
	acl := jute.OpenACL()
	watch := &jute.PathWatchRequest{Path: path}
	named := &jute.PathRequest{Path: path}
	any := &jute.PathVersionRequest{Path: path, Version: -1}
	for _, mode := range []int32{jute.ModePersistent, jute.ModeSequential} {
		a.do(jute.OpCreate, &jute.CreateRequest{Path: path, ACL: acl, Flags: mode})
	}
	a.do(jute.OpCreate2, &jute.CreateRequest{Path: path, ACL: acl, Flags: jute.ModeEphemeral})
	a.do(jute.OpExists, watch)
	a.do(jute.OpGetData, watch)
	a.do(jute.OpGetChildren, watch)
	a.do(jute.OpGetChildren2, watch)
	a.do(jute.OpSetData, &jute.SetDataRequest{Path: path, Version: -1})
	a.do(jute.OpGetACL, named)
	a.do(jute.OpSetACL, &jute.SetACLRequest{Path: path, ACL: acl, Version: -1})
	a.do(jute.OpMulti, &jute.MultiRequest{Ops: []jute.MultiOp{op(jute.OpCheck, any)}})
	a.do(jute.OpMulti, &jute.MultiRequest{Ops: []jute.MultiOp{op(jute.OpCreate, &jute.CreateRequest{Path: path, ACL: acl})}})
	a.do(jute.OpMultiRead, &jute.MultiRequest{Ops: []jute.MultiOp{op(jute.OpGetData, watch), op(jute.OpGetChildren, watch)}})
	a.do(jute.OpSync, named)
	a.do(jute.OpGetAllChildrenNumber, named)
	a.do(jute.OpGetEphemerals, named)
	a.do(jute.OpAddWatch, &jute.AddWatchRequest{Path: path, Mode: jute.WatchPersistent})
	a.do(jute.OpRemoveWatches, &jute.WatchesRequest{Path: path, Type: jute.WatcherAny})
	a.do(jute.OpDelete, any)
}

func TestFlagsOfCreatesThatDoNotFitAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for i, flags := range []int32{-1, 0, 4, 5, 6, 7, 8, 1 << 30} {
			name := "/" + string(rune('a'+i))
			a.do(jute.OpCreate, s.creation(name, "", flags))
			a.do(jute.OpCreate2, s.creation(name+"2", "", flags))
			a.do(jute.OpCreateContainer, s.creation(name+"c", "", flags))
			a.makeTTL(name+"t", flags, 60_000)
		}
		a.list("")
	})
}

func TestFlagsOfACreateInAMultiSayWhatItMakes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, flags := range []int32{0, 1, 2, 3, 4, 5, 6} {
			a.multi(op(jute.OpCreate, s.creation("/"+string(rune('a'+flags)), "", flags)))
		}
		a.list("")
	})
}

func TestContainersAndTimesToLiveInAMulti(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, flags := range []int32{0, 1, 2, 3, 4, 5, 6} {
			name := "/" + string(rune('a'+flags))
			a.multi(op(jute.OpCreateContainer, s.creation(name+"c", "", flags)))
			a.multi(op(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: *s.creation(name+"t", "", flags), TTLMillis: 60_000}))
		}
		a.list("")
	}, "3.9 answers by the operation, 3.8 by the flags")
}

func TestCreateWithoutAnACLIsRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.do(jute.OpCreate, &jute.CreateRequest{Path: s.at("/x"), ACL: []jute.ACL{}}).is(jute.InvalidACL)
		a.multi(op(jute.OpCreate, &jute.CreateRequest{Path: s.at("/x"), ACL: []jute.ACL{}})).codes(jute.InvalidACL)
	})
}

func TestCreateWithANullACLIsRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		null := &jute.CreateRequest{Path: s.at("/x")}
		a.do(jute.OpCreate, null).is(jute.InvalidACL)
		a.multi(op(jute.OpCreate, null)).is(onNewer(s, jute.OK, jute.MarshallingError))
	}, "3.9 cannot cope with it in a multi")
}

func TestTheEmptyPathNamesTheRoot(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.do(jute.OpCreate, &jute.CreateRequest{ACL: jute.OpenACL()}).is(jute.BadArguments)
		a.do(jute.OpDelete, &jute.PathVersionRequest{Version: -1}).is(jute.BadArguments)
		a.do(jute.OpSetData, &jute.SetDataRequest{Version: -1}).is(jute.BadArguments)
		a.do(jute.OpSync, &jute.PathRequest{}).ok()
		a.do(jute.OpExists, &jute.PathWatchRequest{}).ok()
		s.notes = s.notes[:len(s.notes)-1] // a Stat that other scripts change
	})
}

func TestUnknownFlagsInAMultiFailItsOperationOrAllOfIt(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, flags := range []int32{-1, 7} {
			r := a.multi(op(jute.OpCreate, s.creation("/x", "", flags)))
			r.is(onNewer(s, jute.OK, jute.MarshallingError))
			if !s.kind.newer {
				r.codes(jute.BadArguments)
			}
		}
		a.exists("/x").is(jute.NoNode)
	}, "3.9 refuses the whole multi")
}

func TestNamesBeyondTheBasicPlaneAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/\U0001F600", jute.ModePersistent).is(jute.BadArguments)
		a.exists("/\U0001F600").is(jute.NoNode)
	})
}

func TestSequenceIsTheNumberOfChildrenEverMade(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/d", jute.ModePersistent).ok()
		a.make("/d/s-", jute.ModeSequential).named("/d/s-0000000000")
		a.make("/d/plain", jute.ModePersistent).ok()
		a.make("/d/s-", jute.ModeSequential).named("/d/s-0000000002")
		a.delete("/d/s-0000000002", -1).ok()
		a.make("/d/s-", jute.ModeEphemeralSequential).named("/d/s-0000000003")
		a.make("/d/", jute.ModeSequential).named("/d/0000000004")
		a.make("/d/plain", jute.ModePersistent).is(jute.NodeExists)
		a.make("/d/s-", jute.ModeSequential).named("/d/s-0000000005")
		require.EqualValues(s.t, 2*6-5, a.exists("/d").stat().Cversion)
	})
}

func TestSequenceStartsAgainWithANewDirectory(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/d", jute.ModePersistent).ok()
		first := a.make("/d/s-", jute.ModeSequential).named("/d/s-0000000000").stat()
		a.delete("/d/s-0000000000", -1).ok()
		a.delete("/d", -1).ok()
		a.make("/d", jute.ModePersistent).ok()
		again := a.make("/d/s-", jute.ModeSequential).named("/d/s-0000000000").stat()
		require.Greater(s.t, again.Czxid, first.Czxid)
	})
}

func TestChildrenOfEphemeralsAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/e", jute.ModeEphemeral).ok()
		a.make("/e/x", jute.ModePersistent).is(jute.NoChildrenForEphemerals)
		a.make("/e/x", jute.ModeEphemeral).is(jute.NoChildrenForEphemerals)
		a.exists("/e").ok()
	})
}
