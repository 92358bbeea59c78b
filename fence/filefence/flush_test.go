package filefence_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

// What a power cut must not take is on the disk before anything relies on it: the
// new contents before they get the file's name, the name before the write is
// told to be done.
func TestContentsAreFlushedBeforeTheyAreNamedAndTheNameBeforeSuccess(t *testing.T) {
	f, path := newFile(t)
	require.NoError(t, f.Update(t.Context(), fence.Stamp{Token: 33}, set("draft")))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	after := filefence.Encode(fence.Stamp{Token: 34}, []byte("final"))
	var flushed []string
	defer filefence.OnFlush(func(file *os.File) error {
		flushed = append(flushed, filepath.Base(file.Name()))
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(flushed) == 1 {
			written, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			require.Equal(t, string(after), string(written), "all of it")
			require.Equal(t, string(before), string(now))
		} else {
			require.Equal(t, string(after), string(now))
		}
		return file.Sync()
	})()
	require.NoError(t, f.Update(t.Context(), fence.Stamp{Token: 34}, set("final")))
	require.Equal(t, []string{"report.next", filepath.Base(filepath.Dir(path))}, flushed)
}

func TestFailedFlush(t *testing.T) {
	broken := errors.New("no more space on the device")
	for at, want := range map[int]struct {
		unknown bool
		stands  string
	}{
		1: {false, "draft"}, // of the contents: nothing has happened
		2: {true, "final"},  // of the name: it has, until the next power cut perhaps
	} {
		f, _ := newFile(t)
		require.NoError(t, f.Update(t.Context(), fence.Stamp{Token: 33}, set("draft")))
		calls := 0
		restore := filefence.OnFlush(func(*os.File) error {
			if calls++; calls == at {
				return broken
			}
			return nil
		})
		err := f.Update(t.Context(), fence.Stamp{Token: 34}, set("final"))
		restore()
		require.ErrorIs(t, err, broken)
		require.Equal(t, want.unknown, errors.Is(err, fence.ErrOutcomeUnknown))
		data, _, err := f.Contents()
		require.NoError(t, err)
		require.Equal(t, want.stands, string(data))
	}
}
