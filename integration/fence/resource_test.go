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

// resource is what the writers of these tests write to: a history, and a count
// that must be that of its rows.
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
		"CREATE TABLE history (id " + id + ", token BIGINT NOT NULL, seq BIGINT NOT NULL)",
		"CREATE TABLE total (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		"INSERT INTO total VALUES (1, 0)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return resource{db}
}

// write adds a row to the history and counts it, by reading and writing back:
// two writes at once would lose one. The reading comes first: to lock the row of
// the count by writing is not this resource's care.
func (r resource) write(ctx context.Context, tx *sql.Tx, s fence.Stamp) error {
	var n int64
	if err := tx.QueryRowContext(ctx, "SELECT n FROM total WHERE id = 1").Scan(&n); err != nil {
		return err
	}
	if err := r.record(ctx, tx, s); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, r.bind("UPDATE total SET n = ? WHERE id = 1"), n+1)
	return err
}

// record adds a row to the history alone.
func (r resource) record(ctx context.Context, tx sqlfence.Querier, s fence.Stamp) error {
	_, err := tx.ExecContext(ctx, r.bind("INSERT INTO history (token, seq) VALUES (?, ?)"), int64(s.Token), s.Seq)
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

func (r resource) total(t testing.TB) int {
	t.Helper()
	var n int
	require.NoError(t, r.db.QueryRowContext(t.Context(), "SELECT n FROM total WHERE id = 1").Scan(&n))
	return n
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
