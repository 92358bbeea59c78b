package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// openACL is shared by the many znodes that have it.
var openACL = jute.OpenACL()

// An identity is what a connection has shown itself to be.
type identity struct{ scheme, id string }

// super is the identity that passes every ACL: that of an operator.
var super = identity{"super", ""}

// user is the identity without its secret.
func (id identity) user() string {
	user, _, _ := strings.Cut(id.id, ":")
	return user
}

// digestIdentity is the identity that "user:password" gives.
func digestIdentity(auth string) identity {
	user, _, _ := strings.Cut(auth, ":")
	sum := sha1.Sum([]byte(auth))
	return identity{"digest", user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// allowed tells whether one of the identities has one of the permissions.
func allowed(acl []jute.ACL, perm int32, ids []identity) bool {
	if len(acl) == 0 || slices.Contains(ids, super) {
		return true
	}
	for _, a := range acl {
		if a.Perms&perm == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID == "anyone" {
			return true
		}
		for _, id := range ids {
			if id.scheme == a.Scheme && identityMatches(id, a.ID) {
				return true
			}
		}
	}
	return false
}

func identityMatches(id identity, expr string) bool {
	if id.scheme != "ip" {
		return id.id == expr
	}
	prefix, ok := ipPrefix(expr)
	addr, err := netip.ParseAddr(id.id)
	return ok && err == nil && prefix.Contains(addr)
}

// ipPrefix parses "a.b.c.d" and "a.b.c.d/bits". Like a real server it knows
// IPv4 only.
func ipPrefix(expr string) (netip.Prefix, bool) {
	host, bits, hasBits := strings.Cut(expr, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is4() {
		return netip.Prefix{}, false
	}
	n := 32
	if hasBits {
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > 32 {
			return netip.Prefix{}, false
		}
	}
	return netip.PrefixFrom(addr, n), true
}

// fixACL checks an ACL that a client sent, takes out what it names twice, and
// puts the client's own identities in the place of the scheme auth.
func fixACL(acl []jute.ACL, ids []identity) ([]jute.ACL, jute.Code) {
	var fixed []jute.ACL
	for i, a := range acl {
		if slices.Contains(acl[:i], a) {
			continue
		}
		switch {
		case a.Scheme == "world" && a.ID == "anyone":
			fixed = append(fixed, a)
		case a.Scheme == "auth":
			own := ownACL(a.Perms, ids)
			if own == nil {
				return nil, jute.InvalidACL
			}
			fixed = append(fixed, own...)
		case validExpression(a):
			fixed = append(fixed, a)
		default:
			return nil, jute.InvalidACL
		}
	}
	if len(fixed) == 0 {
		return nil, jute.InvalidACL
	}
	if slices.Equal(fixed, openACL) {
		fixed = openACL
	}
	return fixed, jute.OK
}

// ownACL grants perms to the identities that stand for somebody: an address
// does not.
func ownACL(perms int32, ids []identity) []jute.ACL {
	var acl []jute.ACL
	for _, id := range ids {
		if id.scheme == "digest" {
			acl = append(acl, jute.ACL{Perms: perms, Scheme: id.scheme, ID: id.id})
		}
	}
	return acl
}

func validExpression(a jute.ACL) bool {
	switch a.Scheme {
	case "digest":
		// One colon, not counting those at the end, as Java splits.
		return strings.Count(strings.TrimRight(a.ID, ":"), ":") == 1
	case "ip":
		_, ok := ipPrefix(a.ID)
		return ok
	}
	return false
}

// redacted hides the secrets of an ACL from those who may not administer it.
func redacted(acl []jute.ACL) []jute.ACL {
	hidden := slices.Clone(acl)
	for i, a := range hidden {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			hidden[i].ID = user + ":x"
		}
	}
	return hidden
}
