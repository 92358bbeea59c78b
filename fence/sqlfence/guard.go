package sqlfence

import (
	"context"
	"database/sql"

	"github.com/zkrecipes/zkrecipes/fence"
)

type guard struct {
	fences   *Fences
	db       DB
	resource string
}

// For returns the guard of one resource. Its functions get at the transaction by
// TxFrom.
func (f *Fences) For(db DB, resource string) fence.Guard {
	return guard{fences: f, db: db, resource: resource}
}

func (g guard) Write(ctx context.Context, stamp fence.Stamp, effect func(context.Context) error) error {
	return g.fences.Tx(ctx, g.db, g.resource, stamp, withTx(ctx, effect))
}

func (g guard) Read(ctx context.Context, token fence.Token, look func(context.Context) error) error {
	return g.fences.ReadTx(ctx, g.db, g.resource, token, withTx(ctx, look))
}

func (g guard) Install(ctx context.Context, token fence.Token) error {
	return g.fences.Install(ctx, g.db, g.resource, token)
}

type txKey struct{}

func withTx(ctx context.Context, fn func(context.Context) error) func(*sql.Tx) error {
	return func(tx *sql.Tx) error { return fn(context.WithValue(ctx, txKey{}, tx)) }
}

// TxFrom returns the transaction in which a function that a guard of this
// package calls must do its work, nil in any other context.
func TxFrom(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(txKey{}).(*sql.Tx)
	return tx
}
