package zktest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestEveryWriteTakesOneZxidFailedOnesToo(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Zero(t, c.stat("/").Czxid, "the root is there before any transaction")
	require.EqualValues(t, 1, c.zxid, "the session was one transaction")

	zxid := c.zxid
	for _, write := range []func(){
		func() { c.create("/a", jute.ModePersistent) },
		func() { require.Equal(t, jute.NodeExists, c.do(jute.OpCreate, createBody("/a", 0), nil)) },
		func() { require.Equal(t, jute.NoNode, c.delete("/none")) },
		func() { require.Equal(t, jute.OK, c.set("/a", "x")) },
		func() { require.Equal(t, jute.BadVersion, c.do(jute.OpDelete, version("/a", 9), nil)) },
		func() { c.multi() },
		func() { c.multi(op(jute.OpCheck, version("/none", -1))) },
		func() {
			require.Equal(t, jute.MarshallingError, c.do(jute.OpCreate, at("/short"), nil))
		},
	} {
		write()
		zxid++
		require.Equal(t, zxid, c.zxid)
	}
	for range 3 {
		c.exists("/a")
		c.ping()
		require.Equal(t, jute.OK, c.do(jute.OpSync, at("/"), &jute.PathReply{}))
		require.Equal(t, jute.MarshallingError, c.do(jute.OpGetData, &jute.Empty{}, nil))
	}
	require.Equal(t, zxid, c.zxid, "reads, pings and syncs are no transactions")
}

func TestStatIsFilledAsByARealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := open(t, s)
		made := time.Now().UnixMilli()
		c.create("/d", jute.ModePersistent)
		czxid := c.zxid
		time.Sleep(1500 * time.Millisecond)
		c.create("/d/a", jute.ModePersistent)
		c.create("/d/b", jute.ModeEphemeral)
		require.Equal(t, jute.OK, c.delete("/d/a"))
		pzxid := c.zxid
		require.Equal(t, jute.OK, c.set("/d", "hello"))
		mzxid := c.zxid
		require.Equal(t, jute.OK, c.do(jute.OpSetACL, &jute.SetACLRequest{Path: "/d", ACL: jute.OpenACL(), Version: 0}, &jute.StatReply{}))

		require.Equal(t, jute.Stat{
			Czxid: czxid, Mzxid: mzxid, Pzxid: pzxid, Ctime: made, Mtime: made + 1500,
			Version: 1, Cversion: 3, Aversion: 1, DataLength: 5, NumChildren: 1,
		}, c.stat("/d"), "cversion is twice the creations less the children")
		require.Equal(t, c.id(), c.stat("/d/b").EphemeralOwner)
		require.Equal(t, jute.Stat{NumChildren: 2, Pzxid: czxid}, c.stat("/"))
		require.Equal(t, c.stat("/"), c.stat(""), "the root has two names")
	})
}

func TestDataKeepsNilAndEmptyApart(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	for i, data := range [][]byte{nil, {}, []byte("x")} {
		path := fmt.Sprintf("/%d", i)
		body := createBody(path, 0)
		body.Data = data
		require.Equal(t, jute.OK, c.do(jute.OpCreate, body, &jute.PathReply{}))
		var reply jute.DataReply
		require.Equal(t, jute.OK, c.do(jute.OpGetData, plain(path), &reply))
		require.Equal(t, data, reply.Data)
		require.EqualValues(t, len(data), reply.Stat.DataLength)
	}
}

func TestCreate2ReturnsTheStat(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	var reply jute.CreateReply
	require.Equal(t, jute.OK, c.do(jute.OpCreate2, createBody("/a-", jute.ModeEphemeralSequential), &reply))
	require.Equal(t, "/a-0000000000", reply.Path, "/zookeeper was always there")
	require.Equal(t, c.stat(reply.Path), reply.Stat)
}

func TestSequenceCountsEveryCreationOfAChild(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	require.Equal(t, "/d/a-0000000000", c.create("/d/a-", jute.ModeSequential))
	c.create("/d/plain", 0)
	require.Equal(t, "/d/b-0000000002", c.create("/d/b-", jute.ModeSequential))
	require.Equal(t, jute.OK, c.delete("/d/plain"))
	require.Equal(t, "/d/0000000003", c.create("/d/", jute.ModeSequential))
}

func TestSequenceSticksAtTheEndOfItsRange(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	require.NoError(t, s.SetCreateCounter("/d", 2147483646))
	require.Equal(t, "/d/a2147483646", c.create("/d/a", jute.ModeSequential))
	before := c.stat("/d")
	require.Equal(t, "/d/b2147483647", c.create("/d/b", jute.ModeSequential))
	require.Equal(t, "/d/c2147483647", c.create("/d/c", jute.ModeSequential))
	require.Equal(t, before.Pzxid, c.stat("/d").Pzxid, "a stuck counter takes pzxid with it")
	require.EqualValues(t, 3, c.stat("/d").NumChildren)
	require.Equal(t, jute.NodeExists, c.do(jute.OpCreate, createBody("/d/c", jute.ModeSequential), nil))

	results := c.multi(
		op(jute.OpCreate, createBody("/d/x", jute.ModeSequential)),
		op(jute.OpCreate, createBody("/d/y", jute.ModeSequential)),
		op(jute.OpCreate, createBody("/d/z", jute.ModeSequential)))
	require.Equal(t, &jute.PathReply{Path: "/d/x2147483647"}, results[0].Body)
	require.Equal(t, &jute.PathReply{Path: "/d/y-2147483648"}, results[1].Body, "creations that overlap go negative")
	require.Equal(t, &jute.PathReply{Path: "/d/z-2147483647"}, results[2].Body)
	require.Equal(t, "/d/w2147483647", c.create("/d/w", jute.ModeSequential))
}

func TestEphemeralsHaveNoChildren(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/e", jute.ModeEphemeral)
	require.Equal(t, jute.NoChildrenForEphemerals, c.do(jute.OpCreate, createBody("/e/x", 0), nil))
}

func TestDeleteRefusesWhatHasChildrenAndWhatIsZooKeepers(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	c.create("/a/b", 0)
	require.Equal(t, jute.NotEmpty, c.delete("/a"))
	for _, p := range []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		require.Equal(t, jute.BadArguments, c.delete(p))
	}
}

func TestPathsThatNoServerTakes(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/p", 0)
	for _, p := range []string{"", "a", "/p/", "/p/.", "/p/..", "/p/\x01", "/p/\x7f", "/p/\ue000", "/p/\ufff0", "/p/😀", "/p/\x00", "/p/\xff"} {
		require.Equal(t, jute.BadArguments, c.do(jute.OpCreate, createBody(p, 0), nil), "%q", p)
		require.Equal(t, jute.BadArguments, c.set(p, "x"), "%q", p)
	}
	for _, p := range []string{"/p//a", "/a/", "/none/a"} {
		require.Equal(t, jute.NoNode, c.do(jute.OpCreate, createBody(p, 0), nil), "%q: the parent is looked for first", p)
	}
	for _, p := range []string{"/p/..a", "/p/a.", "/p/ü", "/p/ ", "/p/\u3042"} {
		require.Equal(t, p, c.create(p, 0))
	}
	require.Equal(t, "/p/.0000000005", c.create("/p/.", jute.ModeSequential), "the number makes it a name")
	require.Equal(t, jute.BadArguments, c.do(jute.OpExists, plain("/a\x00"), nil))
	require.Equal(t, jute.NoNode, c.do(jute.OpGetData, plain("/p/"), nil), "reads look and do not validate")
}

func TestChildrenAreListedInNoOrder(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	var made []string
	for range 20 {
		made = append(made, c.create("/d/n", jute.ModeSequential)[3:])
	}
	var first, again jute.ChildrenReply
	require.Equal(t, jute.OK, c.do(jute.OpGetChildren2, plain("/d"), &first))
	require.Equal(t, jute.OK, c.do(jute.OpGetChildren2, plain("/d"), &again))
	require.ElementsMatch(t, made, first.Names)
	require.NotEqual(t, made, first.Names)
	require.Equal(t, first, again)
	require.EqualValues(t, 20, first.Stat.NumChildren)
}

func TestAllChildrenNumberCountsDescendants(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	for _, p := range []string{"/a", "/a/b", "/a/b/c", "/ab"} {
		c.create(p, 0)
	}
	for path, n := range map[string]int32{"/a": 2, "/ab": 0, "/": 7, "/zookeeper": 2} {
		var reply jute.NumberReply
		require.Equal(t, jute.OK, c.do(jute.OpGetAllChildrenNumber, at(path), &reply))
		require.Equal(t, n, reply.N, path)
	}
}

func TestGetEphemeralsListsTheOwnOnesBelowAPrefix(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	a, b := open(t, s), open(t, s)
	a.create("/x", jute.ModeEphemeral)
	a.create("/y", jute.ModeEphemeral)
	b.create("/z", jute.ModeEphemeral)
	for prefix, names := range map[string][]string{"": {"/x", "/y"}, "/": {"/x", "/y"}, "/x": {"/x"}, "/z": {}} {
		var reply jute.ListReply
		require.Equal(t, jute.OK, a.do(jute.OpGetEphemerals, at(prefix), &reply))
		require.Equal(t, names, reply.Names)
	}
}

func TestContainersGoOnceTheyHaveHadChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory())
		c := openAt(t, s, 0, 40*time.Second)
		for _, p := range []string{"/used", "/unused", "/full"} {
			require.Equal(t, jute.OK, c.do(jute.OpCreateContainer, createBody(p, jute.ModeContainer), &jute.CreateReply{}))
			require.Zero(t, c.stat(p).EphemeralOwner, "a Stat does not tell")
		}
		c.create("/full/x", 0)
		c.create("/used/x", 0)
		require.Equal(t, jute.OK, c.delete("/used/x"))
		z, _ := s.Get("/used")
		require.True(t, z.Container)

		for range 4 {
			time.Sleep(20 * time.Second)
			c.ping()
		}
		require.False(t, c.exists("/used"))
		require.True(t, c.exists("/unused"))
		require.True(t, c.exists("/full"))
	})
}

func TestZnodesWithATimeToLiveGoUnlessChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.Start(t, zktest.WithInMemory(), zktest.WithContainerCheck(time.Second))
		c := openAt(t, s, 0, 40*time.Second)
		for _, p := range []string{"/left", "/kept"} {
			body := &jute.CreateTTLRequest{CreateRequest: *createBody(p, jute.ModeTTL), TTLMillis: 5000}
			require.Equal(t, jute.OK, c.do(jute.OpCreateTTL, body, &jute.CreateReply{}))
		}
		time.Sleep(4 * time.Second)
		require.Equal(t, jute.OK, c.set("/kept", "again"))
		time.Sleep(3 * time.Second)
		require.False(t, c.exists("/left"))
		require.True(t, c.exists("/kept"))
		time.Sleep(4 * time.Second)
		require.False(t, c.exists("/kept"))
	})
}

func TestTimeToLiveCanBeDisabled(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory(), zktest.WithExtendedTypes(false))
	c := open(t, s)
	body := &jute.CreateTTLRequest{CreateRequest: *createBody("/a", jute.ModeTTL), TTLMillis: 5000}
	require.Equal(t, jute.Unimplemented, c.do(jute.OpCreateTTL, body, nil))
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	for _, flags := range []int32{-1, 7, 99, jute.ModeTTL, jute.ModeSequentialTTL} {
		require.Equal(t, jute.BadArguments, c.do(jute.OpCreate, createBody("/a", flags), nil))
	}
	for _, ttl := range []int64{0, -5, 1 << 40} {
		body := &jute.CreateTTLRequest{CreateRequest: *createBody("/a", jute.ModeTTL), TTLMillis: ttl}
		require.Equal(t, jute.BadArguments, c.do(jute.OpCreateTTL, body, nil))
	}
	body := &jute.CreateTTLRequest{CreateRequest: *createBody("/a", 0), TTLMillis: 5000}
	require.Equal(t, jute.BadArguments, c.do(jute.OpCreateTTL, body, nil))
}

func TestItIsTheOperationThatMakesAContainer(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/plain", jute.ModeContainer)
	z, _ := s.Get("/plain")
	require.False(t, z.Container, "the flag alone means nothing")
	require.Equal(t, jute.OK, c.do(jute.OpCreateContainer, createBody("/c", jute.ModeEphemeral), &jute.CreateReply{}))
	z, _ = s.Get("/c")
	require.True(t, z.Container)
	require.Zero(t, z.Stat.EphemeralOwner)
}

func TestRequestThatWouldKillARealServerFailsTheTest(t *testing.T) {
	s, err := zktest.New(zktest.WithInMemory())
	require.NoError(t, err)
	c := open(t, s)
	body := &jute.CreateTTLRequest{CreateRequest: *createBody("/a", 0), TTLMillis: -1}
	require.Equal(t, jute.BadArguments, c.do(jute.OpCreateTTL, body, nil))
	require.ErrorContains(t, s.Close(), "dies of it")
}
