package bench

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

func TestMain(m *testing.M) { zkserver.Main(m) }

// It prints a table: what it measures is more than one figure.
func BenchmarkIdleLock(b *testing.B) {
	zkserver.Shared(b)
	for b.Loop() {
		var out strings.Builder
		require.NoError(b, run(b.Context(), config{rounds: 5, pairs: 500}, &out))
		b.Log("\n" + out.String())
	}
}

// Times are for people to judge. Requests are counted: a pair takes two, and on
// a machine that is busy with something else now and then a renewal.
func TestIdleLockIsMeasuredAndTakesTwoRequests(t *testing.T) {
	zkserver.Shared(t) // skips where there are no servers to start
	var out strings.Builder
	report := proof.New(t, "lock-idle-cost", "What an idle lock costs")
	require.NoError(t, run(t.Context(), config{rounds: proof.Size(1, 5), pairs: proof.Size(20, 500)}, &out))
	report.Printf("%s", out.String())
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, row := range rows[len(rows)-2:] {
		columns := strings.Split(row, "|")
		requests, err := strconv.ParseFloat(strings.TrimSpace(columns[len(columns)-2]), 64)
		require.NoError(t, err, row)
		require.InDelta(t, 2, requests, 0.5, row)
	}
}
