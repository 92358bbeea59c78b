package filefence_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

func TestFormatOfAFile(t *testing.T) {
	// Files outlive releases: this must not change.
	require.Equal(t, "zkrecipes-fence-1 34 7 5 de1418ca\nfinal",
		string(filefence.Encode(fence.Stamp{Token: 34, Seq: 7}, []byte("final"))))
}

// Whatever is accepted is what would have been written, byte by byte.
func FuzzDecode(f *testing.F) {
	f.Add(filefence.Encode(fence.Stamp{Token: 34, Seq: 7}, []byte("final")))
	f.Add(filefence.Encode(fence.Stamp{}, nil))
	f.Add([]byte("zkrecipes-fence-1 034 7 5 0\nfinal"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		stamp, data, err := filefence.Decode(raw)
		if err != nil {
			require.ErrorIs(t, err, filefence.ErrDamaged)
			return
		}
		require.True(t, bytes.Equal(raw, filefence.Encode(stamp, data)))
	})
}
