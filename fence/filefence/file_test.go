package filefence_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

func newFile(t *testing.T) (*filefence.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report")
	f, err := filefence.New(path)
	require.NoError(t, err)
	return f, path
}

func set(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

func TestStaleWriteLeavesTheFileAsItIs(t *testing.T) {
	ctx := t.Context()
	f, _ := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 34}, set("final\nline two")))
	err := f.Update(ctx, fence.Stamp{Token: 33}, func([]byte) ([]byte, error) {
		panic("a refused change is not called")
	})
	require.ErrorIs(t, err, fence.ErrStale)
	data, stamp, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, "final\nline two", string(data))
	require.Equal(t, fence.Stamp{Token: 34}, stamp)
}

func TestFailedChangeInstallsNothing(t *testing.T) {
	ctx := t.Context()
	f, _ := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 33}, set("draft")))
	broken := errors.New("no data")
	require.ErrorIs(t, f.Update(ctx, fence.Stamp{Token: 34}, func([]byte) ([]byte, error) { return nil, broken }), broken)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 33}, set("second draft")))
}

func TestInstallKeepsTheContents(t *testing.T) {
	ctx := t.Context()
	f, _ := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 33}, set("draft")))
	require.NoError(t, f.Install(ctx, 34))
	data, stamp, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, "draft", string(data))
	require.Equal(t, fence.Stamp{Token: 34}, stamp)
}

func TestDamagedFileIsNotTakenForAnUnfencedOne(t *testing.T) {
	ctx := t.Context()
	f, path := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 34}, set("final")))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, raw := range map[string][]byte{
		"empty":           {},
		"cut short":       whole[:len(whole)-1],
		"a changed byte":  append(append([]byte(nil), whole[:len(whole)-1]...), 'X'),
		"a changed token": append([]byte("zkrecipes-fence-1 035"), whole[len("zkrecipes-fence-1 34"):]...),
		"another file":    []byte("hello\nworld\n"),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, raw, 0o644))
			require.ErrorIs(t, f.Update(ctx, fence.Stamp{Token: 35}, set("x")), filefence.ErrDamaged)
			_, _, err := f.Contents()
			require.ErrorIs(t, err, filefence.ErrDamaged)
		})
	}
}

func TestUpdatesOfSeveralValuesTakeTurns(t *testing.T) {
	_, path := newFile(t)
	var wg sync.WaitGroup
	for range 4 {
		f, err := filefence.New(path) // its own, as another process would have
		require.NoError(t, err)
		wg.Go(func() {
			for range 10 {
				err := f.Update(context.Background(), fence.Stamp{Token: 34}, func(old []byte) ([]byte, error) {
					return append(old, '.'), nil
				})
				if err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
	f, err := filefence.New(path)
	require.NoError(t, err)
	data, _, err := f.Contents()
	require.NoError(t, err)
	require.Len(t, data, 40)
}

func TestWaitForTheFileEndsWithItsContext(t *testing.T) {
	f, path := newFile(t)
	other, err := filefence.New(path)
	require.NoError(t, err)
	err = f.Update(t.Context(), fence.Stamp{Token: 33}, func(old []byte) ([]byte, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, other.Install(ctx, 34), context.DeadlineExceeded)
		require.ErrorIs(t, f.Install(ctx, 34), context.DeadlineExceeded)
		return old, nil
	})
	require.NoError(t, err)
}

func TestLinkStandsForItsTarget(t *testing.T) {
	ctx := t.Context()
	f, path := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 33}, set("draft")))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	linked, err := filefence.New(link)
	require.NoError(t, err)
	require.NoError(t, linked.Update(ctx, fence.Stamp{Token: 34}, set("final")))
	require.ErrorIs(t, f.Update(ctx, fence.Stamp{Token: 33}, set("late")), fence.ErrStale)
	data, _, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, "final", string(data))
}

func TestPermissionsOutliveTheReplacement(t *testing.T) {
	ctx := t.Context()
	f, path := newFile(t)
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 33}, set("draft")))
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, f.Update(ctx, fence.Stamp{Token: 34}, set("final")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestFlushComesBeforeTheRenameAndTheFoldersAfter(t *testing.T) {
	f, _ := newFile(t)
	var steps []string
	filefence.OnStep(func(s string) { steps = append(steps, s) })
	defer filefence.OnStep(func(string) {})
	require.NoError(t, f.Install(t.Context(), 34))
	require.Equal(t, []string{"write", "flush", "rename", "flush folder", "done"}, steps)
}

func TestFileIsAGuardWithItsContentsInTheContext(t *testing.T) {
	ctx := t.Context()
	f, _ := newFile(t)
	var g fence.Guard = f
	require.NoError(t, g.Write(ctx, fence.Stamp{Token: 34}, func(ctx context.Context) error {
		*filefence.ContentsFrom(ctx) = []byte("final")
		return nil
	}))
	require.NoError(t, g.Read(ctx, 35, func(ctx context.Context) error {
		require.Equal(t, "final", string(*filefence.ContentsFrom(ctx)))
		*filefence.ContentsFrom(ctx) = []byte("not kept")
		return nil
	}))
	require.ErrorIs(t, g.Read(ctx, 33, func(context.Context) error { return nil }), fence.ErrStale)
	data, stamp, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, "final", string(data))
	require.Equal(t, fence.Stamp{Token: 34}, stamp, "the reader's token does not stand")
	require.Nil(t, filefence.ContentsFrom(ctx))
}

func TestNewRefusesAFolderThatIsMissing(t *testing.T) {
	_, err := filefence.New(filepath.Join(t.TempDir(), "missing", "report"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
