package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMultiOfCreateAndSetDataShowsTheStateInBetween(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	res := c.multi(
		op(jute.OpCreate, createBody("/d/n-", jute.ModeEphemeralSequential)),
		op(jute.OpSetData, &jute.SetDataRequest{Path: "/d", Version: -1}))
	require.Equal(t, &jute.PathReply{Path: "/d/n-0000000000"}, res[0].Body)
	dir := res[1].Body.(*jute.StatReply).Stat
	child := c.stat("/d/n-0000000000")
	require.Equal(t, child.Czxid, dir.Mzxid, "one transaction")
	require.Equal(t, child.Czxid, dir.Pzxid)
	require.EqualValues(t, 1, dir.NumChildren)
	require.Equal(t, c.stat("/d"), dir)

	res = c.multi(
		op(jute.OpSetData, &jute.SetDataRequest{Path: "/d", Version: -1}),
		op(jute.OpCreate, createBody("/d/n-", jute.ModeEphemeralSequential)))
	require.EqualValues(t, 1, res[0].Body.(*jute.StatReply).Stat.NumChildren, "before the second child")
}

func TestMultiThatFailsChangesNothingAndTakesAZxid(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	before, zxid := c.stat("/d"), c.zxid
	res := c.multi(
		op(jute.OpCreate, createBody("/d/a", 0)),
		op(jute.OpSetData, &jute.SetDataRequest{Path: "/d", Data: []byte("x"), Version: -1}),
		op(jute.OpDelete, version("/none", -1)),
		op(jute.OpCreate, createBody("/d/b", 0)))
	require.Equal(t, []jute.MultiResult{
		{Op: jute.OpError, Err: jute.OK},
		{Op: jute.OpError, Err: jute.OK},
		{Op: jute.OpError, Err: jute.NoNode},
		{Op: jute.OpError, Err: jute.RuntimeInconsistency},
	}, res)
	require.Equal(t, before, c.stat("/d"))
	require.Equal(t, zxid+1, c.zxid)
	require.Equal(t, "/d/n0000000000", c.create("/d/n", jute.ModeSequential), "the counter is put back too")
}

func TestMultiSeesWhatItsEarlierOperationsDo(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	res := c.multi(
		op(jute.OpCreate, createBody("/d", 0)),
		op(jute.OpCreate, createBody("/d/a", 0)),
		op(jute.OpSetData, &jute.SetDataRequest{Path: "/d/a", Version: 0}),
		op(jute.OpCheck, version("/d/a", 1)),
		op(jute.OpDelete, version("/d/a", 1)),
		op(jute.OpCreate, createBody("/d/a", 0)),
		op(jute.OpCheck, version("/d/a", 0)))
	for _, r := range res {
		require.Equal(t, jute.OK, r.Err)
	}
	require.Equal(t, jute.NotEmpty, c.multi(
		op(jute.OpCreate, createBody("/e", 0)),
		op(jute.OpCreate, createBody("/e/a", 0)),
		op(jute.OpDelete, version("/e", -1)))[2].Err)
	require.False(t, c.exists("/e"))
}

func TestMultiGoesByTheFlagsOfItsCreations(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	res := c.multi(
		op(jute.OpCreate2, createBody("/plain", 0)),
		op(jute.OpCreate, createBody("/container", jute.ModeContainer)),
		op(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: *createBody("/ttl", jute.ModeTTL), TTLMillis: 1}),
		op(jute.OpCreateTTL, &jute.CreateTTLRequest{CreateRequest: *createBody("/no-ttl", 0), TTLMillis: 1}))
	require.Equal(t, jute.OpCreate, res[0].Op, "a nested create2 has no Stat")
	require.Equal(t, jute.OpCreate2, res[1].Op, "a nested container has one")
	require.Equal(t, jute.OpCreate2, res[2].Op)
	require.Equal(t, jute.OpCreate, res[3].Op)
	z, _ := s.Get("/container")
	require.True(t, z.Container)

	zxid := c.zxid
	for _, ops := range [][]jute.MultiOp{
		{op(jute.OpCreate, createBody("/a", jute.ModeTTL))},
		{op(jute.OpGetData, plain("/"))},
		{op(jute.OpCheck, version("/", -1)), op(jute.OpGetData, plain("/"))},
	} {
		require.Equal(t, jute.MarshallingError, c.do(jute.OpMulti, &jute.MultiRequest{Ops: ops}, nil))
	}
	require.Equal(t, zxid+3, c.zxid)
}

func TestMultiReadAnswersEachByItself(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/d", 0)
	c.create("/d/a", 0)
	var reply jute.MultiReply
	require.Equal(t, jute.OK, c.do(jute.OpMultiRead, &jute.MultiRequest{Ops: []jute.MultiOp{
		op(jute.OpGetData, plain("/d")), op(jute.OpGetData, plain("/none")), op(jute.OpGetChildren, watching("/d")),
	}}, &reply))
	require.Equal(t, c.stat("/d"), reply.Results[0].Body.(*jute.DataReply).Stat)
	require.Equal(t, jute.MultiResult{Op: jute.OpError, Err: jute.NoNode}, reply.Results[1])
	require.Equal(t, []string{"a"}, reply.Results[2].Body.(*jute.ListReply).Names)
	require.Zero(t, s.Watches(""), "it leaves no watches")
}

func TestCheckOutsideAMultiIsNeverAnswered(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	require.Equal(t, jute.BadVersion, c.do(jute.OpCheck, version("/", 9), nil))
	c.send(jute.OpCheck, version("/", -1))
	next := c.send(jute.OpExists, plain("/"))
	h, _, err := c.receive()
	require.NoError(t, err)
	require.Equal(t, next, h.Xid)
}
