package fence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// The cost of each guard: against the same write without it, one writer, each
// commit flushed.
func BenchmarkWrite(b *testing.B) {
	for _, d := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.MySQL, sqlfence.SQLite} {
		b.Run(d.String(), func(b *testing.B) { benchmarkWrite(b, database.Open(b, d)) })
	}
}

func benchmarkWrite(b *testing.B, db *database.Database) {
	ctx := b.Context()
	f := newFences(b, db)
	column, err := sqlfence.NewColumn(db.Dialect, "account", "id", "fence")
	require.NoError(b, err)
	for _, statement := range []string{
		"CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)",
		"INSERT INTO account (id, balance) VALUES (1, 0)",
	} {
		_, err := db.ExecContext(ctx, statement)
		require.NoError(b, err)
	}
	const update = "UPDATE account SET balance = balance + 1 WHERE id = 1"
	inTx := func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, update); return err }
	seq := int64(0)
	for _, c := range []struct {
		name  string
		write func() error
	}{
		{"transaction/unguarded", func() error { return unguarded(ctx, db.DB, inTx) }},
		{"transaction/guarded", func() error { return f.Tx(ctx, db, "account", fence.Stamp{Token: 34}, inTx) }},
		{"transaction/guarded-numbered", func() error {
			seq++
			return f.Tx(ctx, db, "numbered", fence.Stamp{Token: 34, Seq: seq}, inTx)
		}},
		{"statement/unguarded", func() error { _, err := db.ExecContext(ctx, update); return err }},
		{"statement/guarded", func() error { return column.Update(ctx, db, 1, 34, "balance = balance + 1") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, c.write())
			}
		})
	}
}

func unguarded(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}
