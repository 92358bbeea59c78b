package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func TestMultiIsOneTransaction(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.ping().zxid
		a.multi(
			op(jute.OpCreate, s.creation("/d", "", jute.ModePersistent)),
			op(jute.OpCreate, s.creation("/d/s-", "", jute.ModeEphemeralSequential)),
			op(jute.OpCreate, s.creation("/d/s-", "", jute.ModeSequential)),
			op(jute.OpSetData, s.setting("/d", "new", 0)),
			op(jute.OpCheck, s.version("/d", 1)),
			op(jute.OpDelete, s.version("/d/s-0000000001", 0)),
		).codes(jute.OK, jute.OK, jute.OK, jute.OK, jute.OK, jute.OK)
		st := a.exists("/d").stat()
		require.Equal(s.t, before+1, st.Czxid)
		require.Equal(s.t, before+1, st.Mzxid)
		require.Equal(s.t, before+1, st.Pzxid)
		require.Equal(s.t, before+1, a.exists("/d/s-0000000000").stat().Czxid)
	})
}

func TestCreate2InAMultiIsAnsweredAsAPlainCreate(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		r := a.multi(op(jute.OpCreate2, s.creation("/x", "", jute.ModePersistent))).ok()
		require.Equal(s.t, onNewer(s, jute.OpCreate, jute.OpCreate2), r.body.(*jute.MultiReply).Results[0].Op)
	}, "3.9 answers with the Stat too")
}

// The grant of a lock in one round trip rests on this.
func TestSetDataAfterACreateInAMultiShowsTheStateAfterIt(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/d", jute.ModePersistent).ok()
		create := op(jute.OpCreate, s.creation("/d/lock-", "", jute.ModeEphemeralSequential))
		set := op(jute.OpSetData, s.setting("/d", "", -1))
		stat := func(r *reply, i int) jute.Stat {
			return r.ok().body.(*jute.MultiReply).Results[i].Body.(*jute.StatReply).Stat
		}
		r := a.multi(create, set)
		first := stat(r, 1)
		require.Equal(s.t, r.zxid, first.Mzxid)
		require.Equal(s.t, r.zxid, first.Pzxid)
		require.EqualValues(s.t, 1, first.NumChildren)
		require.EqualValues(s.t, 2, stat(a.multi(create, set), 1).NumChildren)
		r = a.multi(set, create)
		require.EqualValues(s.t, 2, stat(r, 0).NumChildren, "the other way round it shows the state before")
		require.Less(s.t, stat(r, 0).Pzxid, r.zxid)
	})
}

func TestFailedMultiChangesNothingAndTakesATransaction(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		b.watchData("/x").ok()
		b.watchList("").ok()
		good := []jute.MultiOp{
			op(jute.OpCreate, s.creation("/y", "", jute.ModePersistent)),
			op(jute.OpSetData, s.setting("/x", "new", -1)),
			op(jute.OpCheck, s.version("/x", 1)),
		}
		bad := op(jute.OpCheck, s.version("/x", 9))
		for at := range len(good) + 1 {
			before := a.exists("/x")
			ops := append(append(append([]jute.MultiOp{}, good[:at]...), bad), good[at:]...)
			want := make([]jute.Code, len(ops))
			for i := range want {
				switch {
				case i == at:
					want[i] = jute.BadVersion
				case i > at:
					want[i] = jute.RuntimeInconsistency
				}
			}
			require.Equal(s.t, before.zxid+1, a.multi(ops...).codes(want...).zxid)
			require.Equal(s.t, before.stat(), a.exists("/x").stat())
		}
		a.exists("/y").is(jute.NoNode)
		b.saw()
	})
}

func TestEachKindOfOperationFailsAMultiInItsOwnWay(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.make("/x/y", jute.ModePersistent).ok()
		a.make("/e", jute.ModeEphemeral).ok()
		for _, o := range []jute.MultiOp{
			op(jute.OpCreate, s.creation("/x", "", jute.ModePersistent)),
			op(jute.OpCreate, s.creation("/no/x", "", jute.ModePersistent)),
			op(jute.OpCreate, s.creation("/e/x", "", jute.ModePersistent)),
			op(jute.OpCreate, s.creation("/bad//path", "", jute.ModePersistent)),
			op(jute.OpCreate, &jute.CreateRequest{Path: s.at("/z"), ACL: []jute.ACL{}}),
			op(jute.OpDelete, s.version("/x", -1)),
			op(jute.OpDelete, s.version("/x", 3)),
			op(jute.OpDelete, s.version("/no", -1)),
			op(jute.OpSetData, s.setting("/no", "", -1)),
			op(jute.OpSetData, s.setting("/x", "", 3)),
			op(jute.OpCheck, s.version("/no", -1)),
			op(jute.OpCheck, s.version("/x", 3)),
		} {
			a.multi(op(jute.OpCheck, s.version("/x", -1)), o, op(jute.OpDelete, s.version("/e", -1))).ok()
		}
		a.exists("/e").ok()
	})
}

func TestOperationsOfAMultiSeeEachOther(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/d", jute.ModePersistent).ok()
		a.multi(
			op(jute.OpCreate, s.creation("/d/x", "", jute.ModePersistent)),
			op(jute.OpDelete, s.version("/d", -1)),
		).codes(jute.OK, jute.NotEmpty)
		a.multi(
			op(jute.OpCreate, s.creation("/d/x", "", jute.ModePersistent)),
			op(jute.OpDelete, s.version("/d/x", 0)),
			op(jute.OpCreate, s.creation("/d/x", "", jute.ModeEphemeral)),
			op(jute.OpCreate, s.creation("/d/x/y", "", jute.ModePersistent)),
		).codes(jute.OK, jute.OK, jute.OK, jute.NoChildrenForEphemerals)
		a.multi(
			op(jute.OpCreate, s.creation("/d/x", "", jute.ModePersistent)),
			op(jute.OpDelete, s.version("/d/x", 0)),
			op(jute.OpDelete, s.version("/d", 0)),
			op(jute.OpCheck, s.version("/d", -1)),
		).codes(jute.OK, jute.OK, jute.OK, jute.NoNode)
		a.multi(
			op(jute.OpSetData, s.setting("/d", "", 0)),
			op(jute.OpSetData, s.setting("/d", "", 1)),
			op(jute.OpSetData, s.setting("/d", "", 1)),
		).codes(jute.OK, jute.OK, jute.BadVersion)
		a.exists("/d").ok()
	})
}

// The check-only multi that keeps a lease proven is a committed transaction,
// whatever its check says.
func TestCheckOnlyMultiTakesATransactionAndChangesNothing(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.ping().zxid
		require.Equal(s.t, before+1, a.multi(op(jute.OpCheck, &jute.PathVersionRequest{Path: "/", Version: -1})).codes(jute.OK).zxid)
		require.Equal(s.t, before+2, a.multi(op(jute.OpCheck, s.version("/no", -1))).codes(jute.NoNode).zxid)
		require.Equal(s.t, before+2, a.ping().zxid)
	})
}

func TestMultiWithoutOperationsSucceeds(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.multi()
		a.do(jute.OpMultiRead, &jute.MultiRequest{})
	})
}

func TestEventsOfAMultiComeInTheOrderOfItsOperations(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/d", jute.ModePersistent).ok()
		b.watchExists("/d/x").is(jute.NoNode)
		b.watchData("/d").ok()
		b.watchList("/d").ok()
		b.watchExists("/d/y").is(jute.NoNode)
		a.multi(
			op(jute.OpCreate, s.creation("/d/y", "", jute.ModePersistent)),
			op(jute.OpSetData, s.setting("/d", "", -1)),
			op(jute.OpCreate, s.creation("/d/x", "", jute.ModePersistent)),
		).ok()
		b.saw(s.created("/d/y"), s.newChildren("/d"), s.changed("/d"), s.created("/d/x"))
	})
}

func TestMultiReadAnswersEachReadByItself(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.make("/x/y", jute.ModePersistent).ok()
		before := a.ping().zxid
		r := a.do(jute.OpMultiRead, &jute.MultiRequest{Ops: []jute.MultiOp{
			op(jute.OpGetData, s.reading("/x", true)),
			op(jute.OpGetChildren, s.reading("/no", false)),
			op(jute.OpGetChildren, s.reading("/x", true)),
			op(jute.OpGetData, s.reading("/no", false)),
		}}).codes(jute.OK, jute.NoNode, jute.OK, jute.NoNode)
		require.Equal(s.t, before, r.zxid)
		a.set("/x", "", -1).ok()
		a.make("/x/z", jute.ModePersistent).ok()
		a.saw() // no watches are left
	})
}

func TestReadsAndWritesDoNotMix(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		read, write := op(jute.OpGetData, s.reading("", false)), op(jute.OpSetData, s.setting("", "", -1))
		for _, o := range []jute.Op{jute.OpMulti, jute.OpMultiRead} {
			for _, ops := range [][]jute.MultiOp{{read, write}, {write, read}, {read}, {write}} {
				a.do(o, &jute.MultiRequest{Ops: ops})
			}
		}
		a.exists("").ok()
	})
}
