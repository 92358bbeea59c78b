package recipes

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestUUIDsAreRandomOnesAndFoundInNames(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := NewUUID()
		require.Regexp(t, uuidForm, id)
		require.Equal(t, id, uuidOf("_c_"+id+"-lock-0000000007"))
		require.False(t, seen[id])
		seen[id] = true
	}
}

// What is set aside for a contender is what its path takes.
func TestProtectedCostIsThatOfThePathThatIsMade(t *testing.T) {
	c := &Client{cfg: &config{chroot: "/app"}}
	path := "/app/locks/a/_c_" + NewUUID() + "-" + "lock-"
	require.Equal(t, pathCost(len(path), EphemeralSequential), c.ProtectedCost("/locks/a", "lock-"))
	require.Equal(t, len(path)+len("0000000007")+1+4, c.ProtectedCost("/locks/a", "lock-"), path)
}
