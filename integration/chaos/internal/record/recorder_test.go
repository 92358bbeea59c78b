package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/internal/history"
)

func read(t *testing.T, r *record.Recorder, who string, lines ...record.Line) {
	t.Helper()
	for _, l := range lines {
		got, err := r.Read(who, l.String())
		require.NoError(t, err)
		require.Equal(t, l, got)
	}
}

func TestLinesBecomeAHistory(t *testing.T) {
	r := &record.Recorder{Linger: 100}
	read(t, r, "a",
		record.Line{Event: record.Asked, At: 1, ID: "1", Path: "p", Mode: history.Exclusive},
		record.Line{Event: record.Queued, At: 2, ID: "1", Path: "p"},
		record.Line{Event: record.Granted, At: 3, ID: "1", Token: 7, Session: 8, Node: "p/n"},
		record.Line{Event: record.Looked, At: 4, ID: "1", Until: 40},
		record.Line{Event: record.Called, At: 5, ID: "1.1", Path: "r", Kind: history.Write, Token: 7, Value: "v"},
		record.Line{Event: record.Answered, At: 6, ID: "1.1", Outcome: history.Applied},
		record.Line{Event: record.Released, At: 9, ID: "1"},
		record.Line{Event: record.Asked, At: 10, ID: "2", Path: "p", Mode: history.Exclusive},
		record.Line{Event: record.Gone, At: 11, ID: "2", Err: "late"},
		record.Line{Event: record.Entering, At: 12, ID: "3", Path: "b", N: 2},
		record.Line{Event: record.Entered, At: 13, ID: "3"},
		record.Line{Event: record.Over, At: 14},
	)
	read(t, r, "b",
		record.Line{Event: record.Asked, At: 20, ID: "4", Path: "p,q", Paths: []string{"p", "q"}, Mode: history.Exclusive},
		record.Line{Event: record.Queued, At: 21, ID: "4", Path: "q"},
		record.Line{Event: record.Queued, At: 22, ID: "4", Path: "q"},
		record.Line{Event: record.Granted, At: 23, ID: "4", Tokens: []int64{8, 9}},
		record.Line{Event: record.Called, At: 24, ID: "4.1", Path: "r", Kind: history.Read},
	)
	r.Killed("b", 30)
	r.Deleted(25, "q", "q/other", 9)
	_, err := r.Read("b", `{"event":"loo`)
	require.Error(t, err)

	h := r.History()
	require.Equal(t, []history.Hold{
		{Path: "p", Who: "a", Mode: history.Exclusive, Token: 7, Session: 8, Asked: 1, Queued: 2, From: 3, To: 4, Until: 40, End: 9},
		{Path: "p", Who: "b", Mode: history.Exclusive, Token: 8, Asked: 20, From: 23, End: 30},
		{Path: "q", Who: "b", Mode: history.Exclusive, Token: 9, Asked: 20, Queued: 21, From: 23, End: 30, Requeued: true, Deleted: 25},
	}, h.Holds)
	require.ElementsMatch(t, []history.Wait{
		{Path: "p", Who: "a", Asked: 1, Served: 3},
		{Path: "p", Who: "a", Asked: 10, Gone: 11},
		{Path: "b", Who: "a", Asked: 12, Served: 13},
		{Path: "p,q", Who: "b", Asked: 20, Served: 23, Gone: 30},
	}, h.Waits)
	require.Zero(t, r.Waiting(100))
	require.Equal(t, []history.Operation{
		{Resource: "r", Who: "a", Kind: history.Write, Token: 7, Value: "v", Call: 5, Return: 6, Outcome: history.Applied},
		{Resource: "r", Who: "b", Kind: history.Read, Call: 24, Outcome: history.Unknown},
	}, h.Ops)
	read(t, r, "c", record.Line{Event: record.Asked, At: 40, ID: "5", Path: "p"})
	require.Equal(t, 1, r.Waiting(41))
	require.Zero(t, r.Waiting(40))
	require.Equal(t, []history.Stay{{Path: "b", Who: "a", N: 2, Asked: 12, Entered: 13, Died: 13, Gone: 14}}, h.Stays)
}
