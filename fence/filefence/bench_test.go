package filefence_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

// The cost of the guard: against a write that is as lasting and as atomic. The
// two take turns, so that both meet the same disk; their medians are the
// figures, and those of the benchmark itself mean nothing.
func BenchmarkUpdate(b *testing.B) {
	text := []byte("the report, in one line\n")
	dir := b.TempDir()
	f, err := filefence.New(filepath.Join(dir, "guarded"))
	if err != nil {
		b.Fatal(err)
	}
	var unguarded, guarded []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := replaceUnguarded(dir, text); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		err := f.Update(context.Background(), fence.Stamp{Token: 34}, func([]byte) ([]byte, error) { return text, nil })
		if err != nil {
			b.Fatal(err)
		}
		unguarded = append(unguarded, middle.Sub(start))
		guarded = append(guarded, time.Since(middle))
	}
	b.ReportMetric(median(unguarded), "unguarded-µs")
	b.ReportMetric(median(guarded), "guarded-µs")
}

func median(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Microseconds())
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
