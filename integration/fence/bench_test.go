package fence_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// The cost of each guard: against the same write without it, one writer, each
// commit flushed. The variants take turns, so that all of them meet the same
// disk; their medians are the figures, and those of the benchmark itself mean
// nothing.
func BenchmarkWrite(b *testing.B) {
	for _, d := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.MySQL, sqlfence.SQLite} {
		b.Run(database.Name(d), func(b *testing.B) { benchmarkWrite(b, database.Open(b, d)) })
	}
}

type variant struct {
	name  string
	write func() error
	took  []time.Duration
}

func benchmarkWrite(b *testing.B, db *database.Database) {
	variants := makeVariants(b, db)
	for b.Loop() {
		for i := range variants {
			v := &variants[i]
			start := time.Now()
			require.NoError(b, v.write())
			v.took = append(v.took, time.Since(start))
		}
	}
	for _, v := range variants {
		slices.Sort(v.took)
		b.ReportMetric(float64(v.took[len(v.took)/2].Microseconds()), v.name+"-µs")
	}
}

func makeVariants(b *testing.B, db *database.Database) []variant {
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
	numbered := fence.Stamp{Token: 34}
	return []variant{
		{name: "tx", write: func() error { return unguarded(ctx, db.DB, inTx) }},
		{name: "tx-guarded", write: func() error { return f.Tx(ctx, db, "account", fence.Stamp{Token: 34}, inTx) }},
		{name: "tx-numbered", write: func() error {
			numbered.Seq++
			return f.Tx(ctx, db, "numbered", numbered, inTx)
		}},
		{name: "update", write: func() error { _, err := db.ExecContext(ctx, update); return err }},
		{name: "update-guarded", write: func() error { return column.Update(ctx, db, 1, 34, "balance = balance + 1") }},
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
