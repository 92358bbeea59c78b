package queue_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/queue"
)

const uuid = "_c_5c6eb4ad-9aef-4bf9-9a40-b5f0a3d60e34-"

func TestContendersOfAllFamiliesAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]int64{
		uuid + "lock-0000000000":                              0,
		uuid + "lock-0000000042":                              42,
		uuid + "lock-2147483647":                              math.MaxInt32,
		uuid + "lock--2147483648":                             math.MinInt32,
		uuid + "lock--000000003":                              -3,
		"_c_5c6eb4ad9aef4bf99a40b5f0a3d60e34-lock-0000000007": 7, // go-zookeeper
		"5c6eb4ad9aef4bf99a40b5f0a3d60e34__lock__0000000007":  7, // kazoo
		"lock-0000000007":                                     7,
		"lock-lock-0000000007":                                7,
		"lock-0000000001-lock-0000000007":                     7,
	} {
		seq, ok := queue.Parse(queue.Mutex, name)
		require.True(t, ok, name)
		require.Equal(t, want, seq, name)
	}
}

func TestOtherNamesAreStrangers(t *testing.T) {
	for _, name := range []string{
		"", "x", "_c_", "_c_x", "lock", "lock-", uuid + "lock-", "0000000007", "lock-7",
		"lock-000000007", "lock-00000000007", "lock--7", "lock-+000000007", "lock-000000000a",
		"lock-0000000007x", "lock- 000000007", "lock-9999999999", "lock--9999999999",
		"lock-٠٠٠٠٠٠٠٠٠٧", "latch-0000000007", "lease-0000000007", "LOCK-0000000007",
	} {
		_, ok := queue.Parse(queue.Mutex, name)
		require.False(t, ok, "%q", name)
	}
}

// Curator sorts by the text behind the last "lock-", or by the whole name.
func TestStrangersThatSortBeforeAContenderBlockCurator(t *testing.T) {
	require.True(t, queue.BlocksJVM(queue.Mutex, "0", 7))
	require.True(t, queue.BlocksJVM(queue.Mutex, "lock-", 7))
	require.True(t, queue.BlocksJVM(queue.Mutex, "lock-00", 7))
	require.False(t, queue.BlocksJVM(queue.Mutex, "data", 7))
	require.False(t, queue.BlocksJVM(queue.Mutex, "lock-x", 7))
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{uuid + "lock-0000000042", "lock--2147483648", "lock-", "__lock__0000000001", "_c_x"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		seq, ok := queue.Parse(queue.Mutex, name)
		if !ok {
			return
		}
		if seq < math.MinInt32 || seq > math.MaxInt32 {
			t.Fatalf("%q: %d", name, seq)
		}
		if seq > 0 && !strings.HasSuffix(name, fmt.Sprintf("%010d", seq)) {
			t.Fatalf("%q ends not in %d", name, seq)
		}
	})
}
