package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/papers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// znode makes one that stays: each test has a path of its own.
func znode(t *testing.T, s *recipes.Session, path string, acl ...recipes.ACL) {
	t.Helper()
	_, err := s.Create(t.Context(), path, nil, recipes.Persistent, acl)
	require.NoError(t, err)
}

func TestDoctorNamesAWrongPasswordAndAMissingPermission(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t).Servers[0].DirectAddr()
	s := dial(t, addr)
	anns := recipes.DigestACL(recipes.PermAll, "ann", "right")
	hidden, shown := zkserver.Path(t), zkserver.Path(t)
	znode(t, s, hidden, anns...)
	znode(t, s, shown, append(anns, recipes.WorldACL(recipes.PermRead)...)...)
	wrong := papers.File(t, []byte("digest ann:wrong\n"))

	doctor(t, addr, "--auth-file", papers.File(t, []byte("digest ann:right\n")), hidden, shown).names(t)
	doctor(t, addr, "--auth-file", wrong, shown).
		names(t, "permission: it may not create in it, though its ACL has the user ann: with another password, or fewer permissions")
	doctor(t, addr, "--auth-file", wrong, hidden).
		names(t, "permission: it may not read it with these credentials, nor see its ACL: is the user another one, or the password wrong?")
	doctor(t, addr, shown).names(t, "permission: it may not create in it: its ACL is digest:ann:cdrwa, world:anyone:r")
	doctor(t, addr, hidden).names(t, "permission: it may not read it, nor see its ACL: see --auth-file")
}

func TestDoctorNamesAStrangerInALocksDirectory(t *testing.T) {
	t.Parallel()
	addr, path := zkserver.Shared(t).Servers[0].DirectAddr(), zkserver.Path(t)
	s := dial(t, addr)
	mu, err := lock.NewMutex(s.Client(), path)
	require.NoError(t, err)
	_, err = mu.Lock(within(t, patience))
	require.NoError(t, err)
	znode(t, s, path+"/README")
	doctor(t, addr, path).names(t, "strangers: README does not belong there: nothing else may live in it; delete it, with zkCli")
}

func TestDoctorNamesATokenThatTheEnsembleCannotGiveYet(t *testing.T) {
	t.Parallel()
	addr, path := zkserver.Shared(t).Servers[0].DirectAddr(), zkserver.Path(t)
	doctor(t, addr, "--standing", "1", path).names(t)
	doctor(t, addr, "--standing", fmt.Sprint(1<<50), path).
		names(t, "tokens: 1125899906842624 is ahead of the ensemble")
}

// The owner uses the client library as it is: a session of this library owns no more
// than an ensemble bears.
func TestDoctorNamesASessionThatOwnsTooManyEphemerals(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, zkserver.Config{}).Servers[0]
	owner, _, err := zk.Connect([]string{s.DirectAddr()}, patience, zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(owner.Close)
	long := "/" + strings.Repeat("x", 4000)
	for batch := range 6 {
		var ops []any
		for i := range 25 {
			ops = append(ops, &zk.CreateRequest{Path: fmt.Sprint(long, batch, "-", i), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		}
		_, err := owner.Multi(ops...)
		require.NoError(t, err)
	}
	doctor(t, s.DirectAddr()).names(t, fmt.Sprintf("sessions: session %#x owns 150 ephemeral znodes, 586 KiB of paths", uint64(owner.SessionID())))
}
