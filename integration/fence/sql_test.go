package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// newFences makes the table of fences.
func newFences(t testing.TB, db *database.Database, options ...sqlfence.Option) *sqlfence.Fences {
	t.Helper()
	f, err := sqlfence.New(db.Dialect, options...)
	require.NoError(t, err)
	require.NoError(t, f.Create(t.Context(), db))
	require.NoError(t, f.Verify(t.Context(), db))
	return f
}

func TestInstalledTokenRefusesTheEarlierOnes(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		f := newFences(t, db)
		require.NoError(t, f.Install(t.Context(), db, "report", 34))
		require.ErrorIs(t, f.Install(t.Context(), db, "report", 33), fence.ErrStale)
		require.NoError(t, f.Install(t.Context(), db, "other", 33))
	})
}
