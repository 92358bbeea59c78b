package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func (c *bare) auth(credentials string) {
	c.t.Helper()
	c.sendXid(jute.XidAuth, jute.OpAuth, &jute.AuthRequest{Scheme: "digest", Auth: []byte(credentials)})
	h, _, err := c.receive()
	require.NoError(c.t, err)
	require.Equal(c.t, jute.OK, h.Err)
}

func grant(perms int32, scheme, id string) jute.ACL {
	return jute.ACL{Perms: perms, Scheme: scheme, ID: id}
}

func (c *bare) setACL(path string, acl ...jute.ACL) jute.Code {
	c.t.Helper()
	return c.do(jute.OpSetACL, &jute.SetACLRequest{Path: path, ACL: acl, Version: -1}, &jute.StatReply{})
}

func (c *bare) getACL(path string) ([]jute.ACL, jute.Code) {
	c.t.Helper()
	var reply jute.ACLReply
	code := c.do(jute.OpGetACL, at(path), &reply)
	return reply.ACL, code
}

// digestOfMe is SHA-1 of "me:secret", as ZooKeeper's own tools print it.
const digestOfMe = "me:016djjlksVQS5RgX3M7biBGyYwY="

func TestSchemeAuthStandsForTheOwnIdentity(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	require.Equal(t, jute.InvalidACL, c.setACL("/a", grant(jute.PermAll, "auth", "")), "an address is nobody")
	c.auth("me:secret")
	require.Equal(t, jute.OK, c.setACL("/a", grant(jute.PermRead|jute.PermAdmin, "auth", "ignored")))
	acl, code := c.getACL("/a")
	require.Equal(t, jute.OK, code)
	require.Equal(t, []jute.ACL{grant(jute.PermRead|jute.PermAdmin, "digest", digestOfMe)}, acl)
}

func TestACLsAreEnforced(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	me, other := open(t, s), open(t, s)
	me.auth("me:secret")
	me.create("/a", 0)
	me.create("/a/x", 0)
	require.Equal(t, jute.OK, me.setACL("/a", grant(jute.PermAll, "auth", "")))

	for _, c := range []struct {
		op   jute.Op
		body jute.Record
	}{
		{jute.OpGetData, plain("/a")}, {jute.OpGetChildren, plain("/a")}, {jute.OpGetChildren2, plain("/a")},
		{jute.OpGetAllChildrenNumber, at("/a")}, {jute.OpGetACL, at("/a")},
		{jute.OpSetData, &jute.SetDataRequest{Path: "/a", Version: -1}},
		{jute.OpSetACL, &jute.SetACLRequest{Path: "/a", ACL: jute.OpenACL(), Version: -1}},
		{jute.OpCreate, createBody("/a/y", 0)}, {jute.OpDelete, version("/a/x", -1)},
		{jute.OpCheck, version("/a", -1)},
	} {
		require.Equal(t, jute.NoAuth, other.do(c.op, c.body, nil), "%v", c.op)
	}
	require.Equal(t, jute.OK, other.do(jute.OpExists, plain("/a"), &jute.StatReply{}), "exists asks nobody in 3.8")
	require.Equal(t, jute.OK, other.set("/a/x", "the child has an ACL of its own"))

	other.auth("me:secret")
	require.Equal(t, jute.OK, other.set("/a", "the same identity, another connection"))
	require.NoError(t, s.SetData("/a", []byte("an operator asks nobody")))
}

func TestGetACLHidesSecretsFromReaders(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	me, other := open(t, s), open(t, s)
	me.auth("me:secret")
	me.create("/a", 0)
	require.Equal(t, jute.OK, me.setACL("/a", grant(jute.PermAll, "auth", ""), grant(jute.PermRead, "world", "anyone")))
	acl, _ := me.getACL("/a")
	require.Equal(t, digestOfMe, acl[0].ID)
	acl, code := other.getACL("/a")
	require.Equal(t, jute.OK, code)
	require.Equal(t, []jute.ACL{grant(jute.PermAll, "digest", "me:x"), grant(jute.PermRead, "world", "anyone")}, acl)
}

func TestACLsThatNoServerTakes(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	c := open(t, s)
	c.create("/a", 0)
	for _, acl := range [][]jute.ACL{
		nil, {}, {grant(31, "world", "me")}, {grant(31, "digest", "me")}, {grant(31, "digest", "a:b:c")},
		{grant(31, "ip", "1.2.3")}, {grant(31, "ip", "1.2.3.4/33")}, {grant(31, "x509", "CN=a")}, {grant(31, "", "")},
		{grant(31, "world", "anyone"), grant(31, "none", "x")},
	} {
		require.Equal(t, jute.InvalidACL, c.setACL("/a", acl...), "%v", acl)
		body := createBody("/b", 0)
		body.ACL = acl
		require.Equal(t, jute.InvalidACL, c.do(jute.OpCreate, body, nil))
	}
	require.Equal(t, jute.OK, c.setACL("/a", grant(31, "world", "anyone"), grant(31, "world", "anyone")))
	acl, _ := c.getACL("/a")
	require.Len(t, acl, 1, "what is named twice counts once")
}

func TestAddressesMatchByPrefix(t *testing.T) {
	s := zktest.Start(t)
	c := open(t, s)
	for expr, code := range map[string]jute.Code{
		"127.0.0.1": jute.OK, "127.0.0.0/8": jute.OK, "0.0.0.0/0": jute.OK, "10.0.0.0/8": jute.NoAuth, "127.0.0.2": jute.NoAuth,
	} {
		path := c.create("/a", jute.ModeSequential)
		require.Equal(t, jute.OK, c.setACL(path, grant(jute.PermRead, "ip", expr)))
		var reply jute.DataReply
		require.Equal(t, code, c.do(jute.OpGetData, plain(path), &reply), expr)
	}
}

func TestEventsGoOnlyToThoseWhoMayRead(t *testing.T) {
	s := zktest.Start(t, zktest.WithInMemory())
	me, other := open(t, s), open(t, s)
	me.auth("me:secret")
	for _, c := range []*bare{me, other} {
		require.Equal(t, jute.NoNode, c.do(jute.OpExists, watching("/a"), nil))
	}
	body := createBody("/a", 0)
	body.ACL = []jute.ACL{grant(jute.PermAll, "digest", digestOfMe)}
	require.Equal(t, jute.OK, me.do(jute.OpCreate, body, &jute.PathReply{}))
	other.ping()
	require.Len(t, me.events, 1)
	require.Empty(t, other.events)
	require.Zero(t, s.Watches(""), "the watch is spent all the same")
}
