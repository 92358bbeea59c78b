package recipes_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// A server that says that it has made another znode than was asked for is not
// believed: whether it has made that one is open.
func TestZnodeThatWasNotAskedForIsNotTakenForOurs(t *testing.T) {
	for _, fact := range []struct {
		mode recipes.Mode
		made string
		fits bool
	}{
		{recipes.Persistent, "/x/y", true},
		{recipes.Persistent, "/x/y/", false},
		{recipes.Persistent, "/x/y0000000001", false},
		{recipes.Ephemeral, "/", false},
		{recipes.Ephemeral, "", false},
		{recipes.Container, "/x/y", true},
		{recipes.Container, "/x/z", false},
		{recipes.EphemeralSequential, "/x/y0000000001", true},
		{recipes.EphemeralSequential, "/x/y-2147483648", true},
		{recipes.EphemeralSequential, "/x/y", false},
		{recipes.EphemeralSequential, "/x/y/0000000001", false},
		{recipes.PersistentSequential, "/x/z0000000001", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := recipes.Dial(t.Context(), "impostor", recipes.WithClock(recipes.MonotonicClock()), recipes.WithSessionTimeout(T),
				recipes.WithDialer(zkrtest.Impostor(func(int32) []byte {
					time.Sleep(time.Millisecond)
					return append(binary.BigEndian.AppendUint32(make([]byte, 4), uint32(len(fact.made))), fact.made...)
				})))
			require.NoError(t, err)
			defer c.Close()
			made, err := zkrtest.Session(t, c).Create(zkrtest.Soon(t, time.Second), "/x/y", nil, fact.mode, nil)
			if fact.fits {
				require.NoError(t, err)
				require.Equal(t, fact.made, made)
				return
			}
			require.ErrorIs(t, err, recipes.ErrOutcomeUnknown, "%q", fact.made)
		})
	}
}
