package filefence_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

// The cost of the guard: against a write that is as lasting and as atomic.
func BenchmarkUpdate(b *testing.B) {
	text := []byte("the report, in one line\n")
	b.Run("unguarded", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			if err := replaceUnguarded(dir, text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("guarded", func(b *testing.B) {
		f, err := filefence.New(filepath.Join(b.TempDir(), "report"))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			err := f.Update(context.Background(), fence.Stamp{Token: 34}, func([]byte) ([]byte, error) { return text, nil })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func replaceUnguarded(dir string, text []byte) error {
	file, err := os.Create(filepath.Join(dir, "report.next"))
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(dir, "report")); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
