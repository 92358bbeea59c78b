package zkfence_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/zkfence"
)

func TestFormatOfAZnode(t *testing.T) {
	// Znodes outlive releases: this must not change.
	require.Equal(t, "zkrecipes-znode-1 34 7\nfinal\n", string(zkfence.Encode(fence.Stamp{Token: 34, Seq: 7}, []byte("final\n"))))
	require.Equal(t, "zkrecipes-znode-1 0 0\n", string(zkfence.Encode(fence.Stamp{}, nil)))
}

func TestDataOfOthersBearsNoStamp(t *testing.T) {
	for _, raw := range []string{
		"", "\n", "draft", "zkrecipes-znode-1", "zkrecipes-znode-1 34 7", "zkrecipes-znode-1 34\n", "zkrecipes-znode-2 34 7\nfinal",
		"zkrecipes-znode-1 034 7\n", "zkrecipes-znode-1 -34 7\n", "zkrecipes-znode-1 34 -7\n", "zkrecipes-znode-1 34 7 \n",
		"zkrecipes-znode-1 99999999999999999999 7\n", "zkrecipes-fence-1 34 7 5 de1418ca\nfinal",
	} {
		_, _, err := zkfence.Decode([]byte(raw))
		require.ErrorIs(t, err, zkfence.ErrNoStamp, "%q", raw)
	}
}

// Whatever is accepted is what would have been written, byte by byte.
func FuzzDecode(f *testing.F) {
	f.Add(zkfence.Encode(fence.Stamp{Token: 34, Seq: 7}, []byte("final")))
	f.Add(zkfence.Encode(fence.Stamp{}, nil))
	f.Add([]byte("zkrecipes-znode-1 034 7\nfinal"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		stamp, data, err := zkfence.Decode(raw)
		if err != nil {
			require.ErrorIs(t, err, zkfence.ErrNoStamp)
			return
		}
		require.True(t, bytes.Equal(raw, zkfence.Encode(stamp, data)))
		require.False(t, stamp.Token < 0 || stamp.Seq < 0)
	})
}
