package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func TestWatchesFireOnce(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		b.watchData("/x").ok()
		b.watchList("/x").ok()
		a.set("/x", "1", -1).ok()
		a.set("/x", "2", -1).ok()
		a.make("/x/1", jute.ModePersistent).ok()
		a.make("/x/2", jute.ModePersistent).ok()
		b.saw(s.changed("/x"), s.newChildren("/x"))
	})
}

func TestTwoWatchesOfASessionOnAPathAreOne(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		a.watchData("/x").ok()
		a.watchExists("/x").ok()
		a.set("/x", "1", -1).ok()
		a.saw(s.changed("/x"))
	})
}

func TestEventsTellTheirTransactionFrom39On(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.watchExists("/x").is(jute.NoNode)
		made := b.make("/x", jute.ModePersistent).zxid
		b.make("/y", jute.ModePersistent).ok()
		a.saw(s.created("/x"))
		require.Equal(s.t, onNewer(s, -1, made), a.cause)
		a.do(jute.OpSetWatches, &jute.SetWatchesRequest{Data: []string{s.at("/no")}, Exist: []string{}, Child: []string{}}).ok()
		a.saw(s.deleted("/no"))
		require.EqualValues(s.t, -1, a.cause, "the server does not know when it went")
	})
}

func TestDeletionIsToldOnceToAllKindsOfWatches(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		b.watchData("/x").ok()
		b.watchList("/x").ok()
		b.watchList("").ok()
		a.delete("/x", -1).ok()
		b.saw(s.deleted("/x"), s.newChildren(""))
	})
}

func TestEventComesBeforeTheReplyThatShowsTheChange(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		b.watchData("/x").ok()
		a.set("/x", "1", -1).ok()
		require.Empty(s.t, b.pending)
		b.get("/x").ok()
		require.Equal(s.t, []event{s.changed("/x")}, b.pending)
	})
}

func TestOwnChangeFiresBeforeItsReply(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.watchExists("/x").is(jute.NoNode)
		a.watchList("").ok()
		a.make("/x", jute.ModeEphemeral).ok()
		require.Equal(s.t, []event{s.created("/x"), s.newChildren("")}, a.pending)
	})
}

func TestExistsWatchesWhatIsNotThereAndReadsDoNot(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.watchExists("/x").is(jute.NoNode)
		a.watchData("/y").is(jute.NoNode)
		a.watchList("/z").is(jute.NoNode)
		for _, path := range []string{"/x", "/y", "/z"} {
			a.make(path, jute.ModePersistent).ok()
		}
		a.saw(s.created("/x"))
	})
}

func TestChildWatchesIgnoreDataAndGrandchildren(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/d", jute.ModePersistent).ok()
		a.make("/d/x", jute.ModePersistent).ok()
		a.watchList("/d").ok()
		a.watchData("/d").ok()
		a.set("/d/x", "", -1).ok()
		a.make("/d/x/y", jute.ModePersistent).ok()
		a.setACL("/d", -1, jute.OpenACL()...).ok()
		a.saw()
		a.delete("/d/x/y", -1).ok()
		a.delete("/d/x", -1).ok()
		a.saw(s.newChildren("/d"))
	})
}

func TestWatchesGoWithTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		a.addWatch("/x", jute.WatchPersistent).ok()
		b := a.resume()
		b.set("/x", "", -1).ok()
		b.saw()
	})
}

func TestSetWatchesReportsWhatChangedAfterTheGivenTransaction(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, path := range []string{"/same", "/set", "/gone", "/kids", "/gone-kids"} {
			a.make(path, jute.ModePersistent).ok()
		}
		since := a.ping().zxid
		a.set("/set", "", -1).ok()
		a.delete("/gone", -1).ok()
		a.delete("/gone-kids", -1).ok()
		a.make("/kids/x", jute.ModePersistent).ok()
		a.make("/new", jute.ModePersistent).ok()
		b := a.resume()
		b.do(jute.OpSetWatches, &jute.SetWatchesRequest{
			RelativeZxid: since,
			Data:         []string{s.at("/same"), s.at("/set"), s.at("/gone")},
			Exist:        []string{s.at("/new"), s.at("/still-missing")},
			Child:        []string{s.at("/same"), s.at("/kids"), s.at("/gone-kids")},
		}).ok()
		b.saw(s.changed("/set"), s.deleted("/gone"), s.created("/new"), s.newChildren("/kids"), s.deleted("/gone-kids"))
		b.set("/same", "", -1).ok()
		b.make("/same/x", jute.ModePersistent).ok()
		b.make("/still-missing", jute.ModePersistent).ok()
		b.set("/set", "", -1).ok()
		b.saw(s.changed("/same"), s.newChildren("/same"), s.created("/still-missing"))
	})
}

func TestSetWatches2RestoresPersistentWatchesWithoutAReport(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.make("/r", jute.ModePersistent).ok()
		since := a.ping().zxid
		a.set("/x", "", -1).ok()
		b := a.resume()
		b.do(jute.OpSetWatches2, &jute.SetWatches2Request{
			SetWatchesRequest: jute.SetWatchesRequest{RelativeZxid: since, Data: []string{}, Exist: []string{}, Child: []string{}},
			Persistent:        []string{s.at("/x")}, Recursive: []string{s.at("/r")},
		}).ok()
		b.saw()
		for range 2 {
			b.set("/x", "", -1).ok()
			b.make("/r/s-", jute.ModeSequential).ok()
		}
		b.saw(s.changed("/x"), s.created("/r/s-0000000000"), s.changed("/x"), s.created("/r/s-0000000001"))
	})
}

func TestSetWatchesGetsAsFarAsItsFirstNullList(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		since := a.ping().zxid
		a.set("/x", "", -1).ok()
		a.do(jute.OpSetWatches, &jute.SetWatchesRequest{
			RelativeZxid: since, Data: []string{s.at("/x")}, Child: []string{s.at("/no")},
		}).is(jute.MarshallingError)
		a.do(jute.OpSetWatches2, &jute.SetWatches2Request{
			SetWatchesRequest: jute.SetWatchesRequest{RelativeZxid: since, Data: []string{}, Exist: []string{}, Child: []string{s.at("/no")}},
			Recursive:         []string{s.at("/x")},
		}).is(jute.MarshallingError)
		a.set("/x", "", -1).ok()
		a.saw(s.changed("/x"), s.deleted("/no"))
	})
}

func TestPersistentWatchTellsEveryChange(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.addWatch("/x", jute.WatchPersistent).ok()
		for range 2 {
			a.make("/x", jute.ModePersistent).ok()
			a.set("/x", "", -1).ok()
			a.make("/x/y", jute.ModePersistent).ok()
			a.set("/x/y", "", -1).ok()
			a.delete("/x/y", -1).ok()
			a.delete("/x", -1).ok()
		}
		round := []event{s.created("/x"), s.changed("/x"), s.newChildren("/x"), s.newChildren("/x"), s.deleted("/x")}
		a.saw(append(round, round...)...)
	})
}

func TestRecursiveWatchTellsWhatHappensBelowButNotOfChildren(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.addWatch("/x", jute.WatchPersistentRecursive).ok()
		a.make("/x", jute.ModePersistent).ok()
		a.make("/xx", jute.ModePersistent).ok()
		a.make("/x/y", jute.ModePersistent).ok()
		a.make("/x/y/z", jute.ModePersistent).ok()
		a.set("/x/y/z", "", -1).ok()
		a.delete("/x/y/z", -1).ok()
		a.set("/x", "", -1).ok()
		a.saw(s.created("/x"), s.created("/x/y"), s.created("/x/y/z"), s.changed("/x/y/z"), s.deleted("/x/y/z"), s.changed("/x"))
	})
}

func TestUnknownModesOfAddWatchAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, mode := range []int32{-1, 2, 3, 99} {
			a.addWatch("/x", mode)
		}
		a.make("/x", jute.ModePersistent).ok()
		a.saw()
	})
}

func TestRemoveWatchesRemovesTheKindItNames(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		watch := func() {
			a.watchData("/x").ok()
			a.watchList("/x").ok()
		}
		change := func() {
			a.set("/x", "", -1).ok()
			a.make("/x/s-", jute.ModeSequential).ok()
		}
		for _, typ := range []int32{jute.WatcherData, jute.WatcherChildren, jute.WatcherAny} {
			watch()
			a.removeWatches("/x", typ).ok()
			change()
		}
		a.saw(s.newChildren("/x"), s.changed("/x"))
	})
}

func TestRemoveWatchesOfWhatIsNotWatchedFails(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		b.watchData("/x").ok()
		a.removeWatches("/x", jute.WatcherData).is(jute.NoWatcher)
		b.removeWatches("/x", jute.WatcherChildren).is(jute.NoWatcher)
		for _, typ := range []int32{-1, 0, 6, 99} {
			b.removeWatches("/x", typ)
			b.checkWatches("/x", typ)
		}
		a.set("/x", "", -1).ok()
		b.saw(s.changed("/x"))
	})
}

func TestCheckWatchesOfOnesOwn(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, typ := range []int32{jute.WatcherData, jute.WatcherChildren, jute.WatcherAny} {
			a.checkWatches("/x", typ).is(jute.NoWatcher)
		}
		a.watchData("/x").ok()
		for _, typ := range []int32{jute.WatcherData, jute.WatcherChildren, jute.WatcherAny} {
			a.checkWatches("/x", typ)
		}
	})
}

func TestCheckWatchesTakesAStrangersWatchForOnesOwn(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		b.checkWatches("/x", jute.WatcherData).is(onNewer(s, jute.OK, jute.NoWatcher))
		b.checkWatches("/x", jute.WatcherChildren).is(jute.NoWatcher)
	}, "3.9 tells them apart")
}

func TestCheckWatchesFindsPersistentOnes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, mode := range []int32{jute.WatchPersistent, jute.WatchPersistentRecursive} {
			a.addWatch("/x", mode).ok()
			for _, typ := range []int32{jute.WatcherData, jute.WatcherChildren} {
				a.checkWatches("/x", typ).is(onNewer(s, jute.OK, jute.NoWatcher))
			}
			a.checkWatches("/x", jute.WatcherAny).ok()
		}
	}, "3.9 finds them by kinds of their own and by any")
}

func TestPersistentWatchesAreRemovedByAny(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, mode := range []int32{jute.WatchPersistent, jute.WatchPersistentRecursive} {
			a.addWatch("/x", mode).ok()
			a.removeWatches("/x", jute.WatcherAny).ok()
			a.removeWatches("/x", jute.WatcherAny).is(jute.NoWatcher)
		}
		a.set("/x", "", -1).ok()
		a.make("/x/y", jute.ModePersistent).ok()
		a.saw()
	})
}

func TestPersistentWatchesAreRemovedByHalves(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, mode := range []int32{jute.WatchPersistent, jute.WatchPersistentRecursive} {
			for _, typ := range []int32{jute.WatcherData, jute.WatcherChildren} {
				a.addWatch("/x", mode).ok()
				a.removeWatches("/x", typ).is(onNewer(s, jute.OK, jute.NoWatcher))
				a.set("/x", "", -1).ok()
				a.make("/x/s-", jute.ModeSequential).ok()
				a.ping()
				a.removeWatches("/x", jute.WatcherAny).ok()
			}
		}
	}, "3.9 removes them by kinds of their own and by any")
}

func TestOneShotWatchTakesThePlaceOfAPersistentOne(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		for _, mode := range []int32{jute.WatchPersistent, jute.WatchPersistentRecursive} {
			a.addWatch("/x", mode).ok()
			a.watchData("/x").ok()
			a.watchList("/x").ok()
			for range 2 {
				a.set("/x", "", -1).ok()
				a.make("/x/s-", jute.ModeSequential).ok()
			}
			a.ping()
			a.removeWatches("/x", jute.WatcherAny)
		}
	}, "3.9 keeps both")
}

func TestPersistentWatchTakesThePlaceOfARecursiveOne(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		a.addWatch("/x", jute.WatchPersistentRecursive).ok()
		a.addWatch("/x", jute.WatchPersistent).ok()
		for range 2 {
			a.set("/x", "", -1).ok()
			a.make("/x/s-", jute.ModeSequential).ok()
		}
		a.ping()
	}, "3.9 keeps both")
}
