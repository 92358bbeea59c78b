package sqlfence

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
)

// ErrSchema is returned, wrapped with the reason, when the table of fences does
// not do what a fence needs.
var ErrSchema = errors.New("sqlfence: unfit table")

// Schema returns the statement that makes the table unless there is one of that
// name, for your migrations.
func (f *Fences) Schema() string { return f.sql.schema }

// Create makes the table unless there is one of that name.
func (f *Fences) Create(ctx context.Context, db Querier) error {
	if _, err := db.ExecContext(ctx, f.sql.schema); err != nil {
		return fmt.Errorf("sqlfence: creating the table %s: %w", f.table, err)
	}
	return nil
}

// Verify tries out, and rolls back, whether the table does what a fence needs:
// tokens of 64 bit, one row for each resource, names that are told apart byte by
// byte, and transactions that are rolled back. It returns an ErrSchema, or an
// error of the database. A table of MySQL's MyISAM keeps the rows of the trial.
func (f *Fences) Verify(ctx context.Context, db DB) error {
	name := "zkrecipes-verify-" + rand.Text()
	if err := f.try(ctx, db, name); err != nil {
		return err
	}
	left, err := f.Standing(ctx, db, name)
	if err != nil {
		return err
	}
	if left != (fence.Stamp{}) {
		return f.unfit("it is not transactional: a row stayed after its transaction was rolled back")
	}
	return nil
}

func (f *Fences) try(ctx context.Context, db DB, name string) error {
	tx, err := db.BeginTx(ctx, f.options)
	if err != nil {
		return fmt.Errorf("sqlfence: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for i, n := range []string{name, strings.ToLower(name), name + " "} {
		want := fence.Stamp{Token: math.MaxInt64, Seq: math.MaxInt64 - int64(i)}
		if err := f.add(ctx, tx, n, want); err != nil {
			return f.unfit("a row like %q and %v cannot be added: %v", n, want, err)
		}
		if got, err := scan(tx.QueryRowContext(ctx, f.sql.look, n)); err != nil || got != want {
			return f.unfit("of %v for %q came back %v (%v)", want, n, got, err)
		}
	}
	// The last one: PostgreSQL takes no statement after one that failed.
	if err := f.add(ctx, tx, name, fence.Stamp{Token: 1}); err == nil {
		return f.unfit("it takes two rows for one resource: make resource the primary key")
	}
	return ctx.Err()
}

func (f *Fences) add(ctx context.Context, tx *sql.Tx, name string, s fence.Stamp) error {
	_, err := tx.ExecContext(ctx, f.sql.insert, name, int64(s.Token), s.Seq)
	return err
}

func (f *Fences) unfit(format string, args ...any) error {
	return fmt.Errorf("%w %s: %s; wanted:\n%s", ErrSchema, f.table, fmt.Sprintf(format, args...), f.sql.schema)
}
