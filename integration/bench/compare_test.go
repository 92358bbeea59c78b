package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// full is the run that docs/performance.md keeps. It takes a quarter of an hour on a machine that does nothing else.
var full = size{
	rounds: 5, pairs: 80, turns: 80, contenders: []int{2, 16, 64, 256},
	joiners: 1000, held: []int{10_000}, many: 100_000, waiters: 20_000,
	renewals: []int{1, 1000, 10_000}, renewTime: 2 * sessionTimeout,
	kills: 5, killTimeout: 4 * time.Second,
}

// small is enough to see that everything runs.
var small = size{
	rounds: 1, pairs: 3, turns: 4, contenders: []int{2, 4},
	joiners: 10, held: []int{20}, many: 30, waiters: 5,
	renewals: []int{1, 20}, renewTime: time.Second / 2,
	kills: 1, killTimeout: 4 * time.Second,
}

// BenchmarkAgainstPeers compares this library with what people would use
// instead. Where ZKR_BENCH names a folder with a page performance.md, that
// gets the result.
func BenchmarkAgainstPeers(b *testing.B) {
	zkserver.Shared(b) // skips where there are no servers to start
	for b.Loop() {
		res := newResult(full)
		keep := func() {
			res.finish(full)
			if dir := os.Getenv("ZKR_BENCH"); dir != "" {
				require.NoError(b, res.write(dir, full))
			}
		}
		for _, storage := range []string{onDisk, onTmpfs} {
			compare(b.Context(), b, storage, full, res, keep)
		}
		b.Log("\n" + res.markdown())
	}
}

// Nothing is asserted of times.
func TestEveryContestantRunsEveryCase(t *testing.T) {
	zkserver.Shared(t) // skips where there are no servers to start
	res := newResult(small)
	compare(t.Context(), t, onTmpfs, small, res, func() {})
	res.finish(small)
	for _, c := range small.contests() {
		for _, e := range c.entrants {
			w, ok := res.find(onTmpfs, c.name, e.title, c.contenders)
			require.True(t, ok, "%s, %s", c.name, e.title)
			require.Positive(t, w.P50)
			if c.contenders == 0 { // a few hand-overs differ in more than their number
				require.Positive(t, w.Bytes)
			}
		}
	}
	try, _ := res.find(onTmpfs, tryCase, ours.title, 0)
	require.Equal(t, 1.0, try.Requests, "a TryLock that fails is one read")
	for _, name := range []string{joinCase, holdCase, reconnectCase, renewCase, killCase} {
		require.Contains(t, res.markdown(), name)
	}

	dir := t.TempDir()
	page := filepath.Join(dir, "performance.md")
	require.ErrorContains(t, res.write(dir, small), "no such file")
	require.NoError(t, os.WriteFile(page, []byte("# T\n"), 0o600))
	require.ErrorContains(t, res.write(dir, small), "no marks")
	require.NoError(t, os.WriteFile(page, []byte("# T\n"+beginMark+"the run before"+endMark+"\nend\n"), 0o600))
	for range 2 { // the second run takes the place of the first
		require.NoError(t, res.write(dir, small))
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.NotContains(t, string(text), "the run before")
	require.Equal(t, 1, strings.Count(string(text), "### Goals"))
	require.True(t, strings.HasSuffix(string(text), endMark+"\nend\n"))
	charts, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Len(t, charts, 5)
}

func newResult(s size) *result {
	return &result{
		Date: time.Now().Format(time.DateOnly), CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Rounds: s.rounds, LoadBefore: load(),
	}
}

func (r *result) finish(s size) {
	r.LoadAfter = load()
	r.Goals = nil
	r.divide()
	r.judge(s)
}

// load is the average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
