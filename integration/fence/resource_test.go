package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// resource is what the writers of these tests write to: a history, whose rows
// each tell how many were seen before, and a mirror with as many rows.
type resource struct {
	db *database.Database
}

func newResource(t testing.TB, db *database.Database) resource {
	t.Helper()
	id := map[sqlfence.Dialect]string{
		sqlfence.PostgreSQL: "BIGSERIAL PRIMARY KEY",
		sqlfence.MySQL:      "BIGINT AUTO_INCREMENT PRIMARY KEY",
		sqlfence.SQLite:     "INTEGER PRIMARY KEY AUTOINCREMENT",
	}[db.Dialect]
	for _, statement := range []string{
		"CREATE TABLE history (id " + id + ", token BIGINT NOT NULL, seq BIGINT NOT NULL, seen BIGINT NOT NULL)",
		"CREATE TABLE mirror (id " + id + ", token BIGINT NOT NULL)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return resource{db}
}

// write looks at the history, then adds to it and to the mirror. It changes no
// row that another write changes, so that no database notices two at once.
func (r resource) write(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	var seen int64
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM history").Scan(&seen); err != nil {
		return err
	}
	if err := r.record(ctx, tx, s, seen); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, r.bind("INSERT INTO mirror (token) VALUES (?)"), int64(s.Token))
	return err
}

// record adds a row to the history alone.
func (r resource) record(ctx context.Context, tx sqlfence.Querier, s fence.Stamp, seen int64) error {
	_, err := tx.ExecContext(ctx, r.bind("INSERT INTO history (token, seq, seen) VALUES (?, ?, ?)"), int64(s.Token), s.Seq, seen)
	return err
}

func (r resource) bind(query string) string {
	if r.db.Dialect != sqlfence.PostgreSQL {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}

// history returns the stamps of the writes that took effect, in their order.
func (r resource) history(t testing.TB) []fence.Stamp {
	t.Helper()
	rows, err := r.db.QueryContext(t.Context(), "SELECT token, seq FROM history ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var all []fence.Stamp
	for rows.Next() {
		var s fence.Stamp
		require.NoError(t, rows.Scan(&s.Token, &s.Seq))
		all = append(all, s)
	}
	require.NoError(t, rows.Err())
	return all
}

// requireWhole checks that each write saw all that were before it, and that none
// took effect by half.
func (r resource) requireWhole(t testing.TB) {
	t.Helper()
	rows, err := r.db.QueryContext(t.Context(), "SELECT seen FROM history ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var n, seen, mirrored int
	for ; rows.Next(); n++ {
		require.NoError(t, rows.Scan(&seen))
		require.Equal(t, n, seen, "the write has not seen the one before it")
	}
	require.NoError(t, rows.Err())
	require.NoError(t, r.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM mirror").Scan(&mirrored))
	require.Equal(t, n, mirrored, "half an effect")
}

// staleEffects counts the writes that took effect after one of a later grant.
func staleEffects(history []fence.Stamp) (stale int) {
	var greatest fence.Token
	for _, s := range history {
		if s.Token < greatest {
			stale++
		}
		greatest = max(greatest, s.Token)
	}
	return stale
}
