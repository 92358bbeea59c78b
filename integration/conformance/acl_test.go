package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

func world(perms int32) jute.ACL { return jute.ACL{Perms: perms, Scheme: "world", ID: "anyone"} }

// own grants all to "own:er", whose digest this is.
var own = jute.ACL{Perms: jute.PermAll, Scheme: "digest", ID: "own:WB9qmW9kBoTSnXyoit3HXD1EF4E="}

func ip(expr string) jute.ACL { return jute.ACL{Perms: jute.PermAll, Scheme: "ip", ID: expr} }

func auth() jute.ACL { return jute.ACL{Perms: jute.PermAll, Scheme: "auth"} }

func TestEachPermissionGuardsItsOperations(t *testing.T) {
	onAll(t, func(s *script) {
		owner, a := s.open("owner"), s.open("a")
		owner.auth("digest", "own:er").ok()
		for bit, perm := range []int32{jute.PermRead, jute.PermWrite, jute.PermCreate, jute.PermDelete, jute.PermAdmin} {
			dir := "/" + string(rune('a'+bit))
			owner.make(dir, jute.ModePersistent, own, world(jute.PermAll&^perm)).ok()
			owner.make(dir+"/x", jute.ModePersistent).ok()
			refused := func(guard int32) jute.Code {
				if guard == perm {
					return jute.NoAuth
				}
				return jute.OK
			}
			a.get(dir).is(refused(jute.PermRead))
			a.list(dir).is(refused(jute.PermRead))
			a.do(jute.OpGetAllChildrenNumber, s.path(dir)).is(refused(jute.PermRead))
			a.set(dir, "", -1).is(refused(jute.PermWrite))
			a.make(dir+"/y", jute.ModePersistent).is(refused(jute.PermCreate))
			a.delete(dir+"/x", -1).is(refused(jute.PermDelete))
			a.multi(op(jute.OpCheck, s.version(dir, -1))).codes(refused(jute.PermRead))
			a.getACL(dir).ok()
			a.setACL(dir, -1, own).is(refused(jute.PermAdmin))
		}
	})
}

func TestExistsNeedsNoPermission(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent, own).ok()
		a.exists("/x").is(onNewer(s, jute.OK, jute.NoAuth))
	}, "3.9 asks for the permission to read")
}

func TestEventsAreForThoseWhoMayRead(t *testing.T) {
	onAll(t, func(s *script) {
		owner, a := s.open("owner"), s.open("a")
		owner.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		a.watchList("/x").ok()
		a.setACL("/x", -1, own).ok()
		owner.auth("digest", "own:er").ok()
		owner.set("/x", "", -1).ok()
		owner.make("/x/y", jute.ModePersistent).ok()
		owner.setACL("/x", -1, world(jute.PermAll)).ok()
		owner.set("/x", "", -1).ok()
		a.saw()
	})
}

func TestGetACLNeedsToReadOrToAdminister(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/none", jute.ModePersistent, own).ok()
		a.make("/read", jute.ModePersistent, own, world(jute.PermRead)).ok()
		a.make("/admin", jute.ModePersistent, own, world(jute.PermAdmin)).ok()
		a.getACL("/none").is(jute.NoAuth)
		require.Equal(s.t, "own:x", a.getACL("/read").ok().body.(*jute.ACLReply).ACL[0].ID, "secrets are hidden")
		require.Equal(s.t, own, a.getACL("/admin").ok().body.(*jute.ACLReply).ACL[0])
	})
}

func TestSetACLChecksItsOwnVersionAndIsNoChangeOfTheNode(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		made := a.make("/x", jute.ModePersistent).stat()
		a.setACL("/x", 1, world(jute.PermAll)).is(jute.BadVersion)
		st := a.setACL("/x", 0, world(jute.PermRead|jute.PermAdmin)).stat()
		require.EqualValues(s.t, 1, st.Aversion)
		require.Equal(s.t, made.Mzxid, st.Mzxid)
		a.set("/x", "", -1).is(jute.NoAuth)
		require.EqualValues(s.t, 2, a.setACL("/x", -1, world(jute.PermAll)).stat().Aversion)
		a.setACL("/no", -1, world(jute.PermAll)).is(jute.NoNode)
		a.set("/x", "", 0).ok()
	})
}

func TestMalformedACLsAreRefused(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for i, acl := range []jute.ACL{
			{Perms: jute.PermAll, Scheme: "world", ID: "nobody"},
			{Perms: jute.PermAll, Scheme: "world"},
			{Perms: jute.PermAll, Scheme: "nonsense", ID: "x"},
			{Perms: jute.PermAll, ID: "x"},
			{Perms: jute.PermAll, Scheme: "digest", ID: "user"},
			{Perms: jute.PermAll, Scheme: "digest", ID: "a:b:c"},
			{Perms: jute.PermAll, Scheme: "digest", ID: ":"},
			ip("127.0.0.1"), ip("127.0.0.0/8"), ip("127.0.0.1/33"), ip("127.0.0.1/-1"), ip("127.0.0"), ip("::1"), ip("localhost"), ip(""),
			auth(),
			world(0), world(-1), world(64),
		} {
			name := "/" + string(rune('a'+i))
			a.make(name, jute.ModePersistent, acl)
			a.setACL("", -1, acl, world(jute.PermAll))
			a.getACL("")
			a.setACL("", -1, world(jute.PermAll))
		}
	})
}

func TestACLsThatRepeatThemselvesAreShortened(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		read, all := world(jute.PermRead), world(jute.PermAll)
		a.make("/x", jute.ModePersistent, read, all, read, own, all, own).ok()
		require.Len(s.t, a.getACL("/x").ok().body.(*jute.ACLReply).ACL, 3)
	})
}

func TestDigestsAreWhatTheirSecretsAreHashedTo(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.make("/x", jute.ModePersistent, own).ok()
		a.get("/x").is(jute.NoAuth)
		a.auth("digest", "own:wrong").ok()
		a.get("/x").is(jute.NoAuth)
		a.auth("digest", "own:er").ok()
		a.get("/x").ok()
		b.get("/x").is(jute.NoAuth)
	})
}

func TestSchemeAuthStandsForTheIdentitiesOfTheClient(t *testing.T) {
	onAll(t, func(s *script) {
		a, b := s.open("a"), s.open("b")
		a.auth("digest", "own:er").ok()
		a.make("/y", jute.ModePersistent, jute.ACL{Perms: jute.PermRead, Scheme: "auth", ID: "ignored"}, world(jute.PermAdmin)).ok()
		b.getACL("/y").ok()
		a.auth("digest", "user:two").ok()
		a.make("/x", jute.ModePersistent, auth()).ok()
		b.get("/x").is(jute.NoAuth)
		b.auth("digest", "user:two").ok()
		b.get("/x").ok()
	})
}

func TestAddressesAreIdentities(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/here", jute.ModePersistent, ip("127.0.0.1")).ok()
		a.make("/net", jute.ModePersistent, ip("127.0.0.0/8")).ok()
		a.make("/elsewhere", jute.ModePersistent, ip("10.1.2.3"), world(jute.PermAdmin)).ok()
		a.get("/here").ok()
		a.get("/net").ok()
		a.get("/elsewhere").is(jute.NoAuth)
		a.setACL("/elsewhere", -1, world(jute.PermAll)).ok()
	})
}

func TestAuthIsGoneWithTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.auth("digest", "own:er").ok()
		a.make("/x", jute.ModePersistent, own).ok()
		b := a.resume()
		b.get("/x").is(jute.NoAuth)
	})
}

func TestUnknownSchemesOfAuthEndTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		for _, scheme := range []string{"nonsense", "", "world", "auth"} {
			a := s.open("a")
			a.auth(scheme, "x").is(jute.AuthFailed)
			a.cutOff()
		}
	})
}

func TestWhoAmIListsTheIdentitiesWithoutTheirSecrets(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.do(jute.OpWhoAmI, &jute.Empty{}).ok()
		a.auth("digest", "own:er").ok()
		a.auth("digest", "own:er").ok()
		a.auth("digest", "user:two").ok()
		a.auth("ip", "").ok()
		a.do(jute.OpWhoAmI, &jute.Empty{}).ok()
	})
}

func TestNoAuthComesBeforeTheVersionAndAfterTheMissingNode(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent, own).ok()
		a.set("/x", "", 9).is(jute.NoAuth)
		a.setACL("/x", 9, world(jute.PermAll)).is(jute.NoAuth)
		a.make("/x/y", jute.ModePersistent).is(jute.NoAuth)
		a.make("/x/y", jute.ModePersistent, jute.ACL{Scheme: "nonsense"}).is(jute.InvalidACL)
		a.delete("/x/y", -1).is(jute.NoAuth)
		a.get("/x/y").is(jute.NoNode)
		a.delete("/x", -1).ok()
	})
}
