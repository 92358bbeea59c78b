package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/fence"
)

// DB is a database to begin transactions on: a *sql.DB or a *sql.Conn.
type DB interface {
	Querier
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}

// Querier runs single statements: a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Fences is a table of fences, a row for each resource. It holds no connection
// and is safe for concurrent use. Make it with New.
type Fences struct {
	dialect Dialect
	table   string
	options *sql.TxOptions
	sql     statements
}

// Option changes what New makes.
type Option interface{ apply(*Fences) }

type optionFunc func(*Fences)

func (o optionFunc) apply(f *Fences) { o(f) }

// WithTable names the table, which may be qualified by a schema. The default is
// fences.
func WithTable(name string) Option { return optionFunc(func(f *Fences) { f.table = name }) }

// WithIsolation sets the isolation level of the transactions. The default is the
// database's own.
func WithIsolation(level sql.IsolationLevel) Option {
	return optionFunc(func(f *Fences) { f.options = &sql.TxOptions{Isolation: level} })
}

// New describes the table of fences of a database. It returns an error for a
// dialect or a table's name that cannot be.
func New(d Dialect, options ...Option) (*Fences, error) {
	f := &Fences{dialect: d, table: "fences"}
	for _, o := range options {
		o.apply(f)
	}
	if _, ok := dialects[d]; !ok {
		return nil, fmt.Errorf("sqlfence: no such dialect: %v", d)
	}
	if err := checkNames(f.table); err != nil {
		return nil, err
	}
	f.sql = d.complete(f.table)
	return f, nil
}

// identifier is what may stand in a statement unquoted.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

func checkNames(names ...string) error {
	for _, n := range names {
		if !identifier.MatchString(n) {
			return fmt.Errorf("sqlfence: %q is not a plain SQL name", n)
		}
	}
	return nil
}

// Tx runs fn in a transaction that also makes the stamp stand for the resource:
// both or neither. From before fn until the end of the transaction nobody else
// can write under a stamp for that resource. fn must not end the transaction.
//
// Tx returns fence.ErrStale where the stamp was overtaken, without a call of fn;
// what fn returns, as it is; an error of the database. After each of these
// nothing was changed. fence.ErrOutcomeUnknown means that the answer to the
// commit was lost, or that the database refused to commit: sent again under the
// same, numbered stamp, the write takes effect once.
func (f *Fences) Tx(ctx context.Context, db DB, resource string, stamp fence.Stamp, fn func(*sql.Tx) error) error {
	return f.locked(ctx, db, resource, f.sql.lock, func(tx *sql.Tx, standing fence.Stamp) error {
		next, err := standing.Admit(resource, stamp)
		if err != nil {
			return err
		}
		if next != standing {
			if _, err := tx.ExecContext(ctx, f.sql.update, int64(next.Token), next.Seq, resource); err != nil {
				return fmt.Errorf("sqlfence: %w", err)
			}
		}
		return fn(tx)
	})
}

// ReadTx runs fn in a transaction in which no write under a stamp can come in
// between, if the reader's token was not overtaken. The token is checked and not
// stored. Errors are as those of Tx.
func (f *Fences) ReadTx(ctx context.Context, db DB, resource string, token fence.Token, fn func(*sql.Tx) error) error {
	return f.locked(ctx, db, resource, f.sql.share, func(tx *sql.Tx, standing fence.Stamp) error {
		if err := standing.AdmitRead(resource, token); err != nil {
			return err
		}
		return fn(tx)
	})
}

// Install makes the token stand for the resource, see fence.Installer.
func (f *Fences) Install(ctx context.Context, db DB, resource string, token fence.Token) error {
	return f.Tx(ctx, db, resource, fence.Stamp{Token: token}, func(*sql.Tx) error { return nil })
}

// Standing returns the highest stamp that was admitted for the resource, the
// zero Stamp if there is none. It is for people and metrics: what it returns may
// have been overtaken by the time that it is looked at.
func (f *Fences) Standing(ctx context.Context, db Querier, resource string) (fence.Stamp, error) {
	s, err := scan(db.QueryRowContext(ctx, f.sql.look, resource))
	if errors.Is(err, errNoRow) {
		return fence.Stamp{}, nil
	}
	return s, err
}

// locked runs body in a transaction that begins by taking the lock of the
// resource's row. A missing row cannot be locked, and two transactions that both
// found it missing would wait for each other as they make it, so it is made
// outside, without a stamp, and the transaction begun anew.
func (f *Fences) locked(ctx context.Context, db DB, resource, lock string, body func(*sql.Tx, fence.Stamp) error) error {
	if err := checkResource(resource); err != nil {
		return err
	}
	err := f.attempt(ctx, db, resource, lock, body)
	if !errors.Is(err, errNoRow) {
		return err
	}
	if _, err := db.ExecContext(ctx, f.sql.create, resource); err != nil {
		return fmt.Errorf("sqlfence: making the row of %s: %w", resource, err)
	}
	return f.attempt(ctx, db, resource, lock, body)
}

func (f *Fences) attempt(ctx context.Context, db DB, resource, lock string, body func(*sql.Tx, fence.Stamp) error) error {
	tx, err := db.BeginTx(ctx, f.options)
	if err != nil {
		return fmt.Errorf("sqlfence: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	standing, err := scan(tx.QueryRowContext(ctx, lock, resource))
	if err != nil {
		return err
	}
	if err := body(tx, standing); err != nil {
		return err
	}
	// A commit that fails later than here may have reached the database.
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlfence: commit: %w: %w", fence.ErrOutcomeUnknown, err)
	}
	return nil
}

var errNoRow = errors.New("sqlfence: the resource's row in the table of fences is gone")

func scan(row *sql.Row) (fence.Stamp, error) {
	var s fence.Stamp
	err := row.Scan(&s.Token, &s.Seq)
	if errors.Is(err, sql.ErrNoRows) {
		return s, errNoRow
	}
	if err != nil {
		return s, fmt.Errorf("sqlfence: %w", err)
	}
	return s, nil
}

// checkResource refuses names that not every database takes as they are.
func checkResource(name string) error {
	if name == "" || len(name) > 255 || !utf8.ValidString(name) {
		return fmt.Errorf("sqlfence: resource %q: must be 1 to 255 bytes of UTF-8", name)
	}
	for _, r := range name {
		if r == 0 {
			return fmt.Errorf("sqlfence: resource %q: must not hold a NUL", name)
		}
	}
	return nil
}
