package zkrtest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Full says whether storms run in full: ZKR_STORM=full.
var Full = os.Getenv("ZKR_STORM") == "full"

// Storms runs a test of random faults under several seeds, all at once. In the
// small form there are few, always the same; in the full one there are many, and
// none that was used before. ZKR_SEED names the only one.
//
// A seed steers the faults and what the parties do. In which order goroutines run
// is not in its hands, so that a failure may take several runs to come again; how
// to run it is said when it fails.
func Storms(t *testing.T, name string, small, full int, test func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range seeds(t, small, full) {
		t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(again(t.Name(), seed))
				}
			})
			test(t, seed)
		})
	}
}

func seeds(t *testing.T, small, full int) []uint64 {
	if s := os.Getenv("ZKR_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("ZKR_SEED: %v", err)
		}
		return []uint64{seed}
	}
	first, n := uint64(1), small
	if Full {
		first, n = uint64(time.Now().UnixNano()), full
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

// again is the command that runs a storm once more, in its package.
func again(name string, seed uint64) string {
	size := "small"
	if Full {
		size = "full"
	}
	return fmt.Sprintf("to run it again: ZKR_SEED=%d ZKR_STORM=%s go test -race -count=10 -run '^%s$'",
		seed, size, strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^"))
}
