package sqlfence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"
)

// script is a database that answers what a test says and records what it was
// asked. What real databases make of the statements, the module of integration
// tests shows.
type script struct {
	answer   func(query string, args []driver.Value) reply
	commit   error
	log      []string
	isolated driver.IsolationLevel // of the last transaction
}

type reply struct {
	rows             [][]driver.Value
	affected, lastID int64
	err              error
}

func (s *script) open(t *testing.T) *sql.DB {
	db := sql.OpenDB(s)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (s *script) ask(query string, args []driver.NamedValue) reply {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	s.log = append(s.log, strings.Join(strings.Fields(query), " "))
	return s.answer(query, values)
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return conn{s}, nil }
func (s *script) Driver() driver.Driver                        { return nil }

type conn struct{ s *script }

func (c conn) Prepare(string) (driver.Stmt, error) { panic("not used") }
func (c conn) Close() error                        { return nil }
func (c conn) Begin() (driver.Tx, error)           { panic("not used") }

func (c conn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.s.log = append(c.s.log, "BEGIN")
	c.s.isolated = o.Isolation
	return c, nil
}

func (c conn) Commit() error {
	c.s.log = append(c.s.log, "COMMIT")
	return c.s.commit
}

func (c conn) Rollback() error {
	c.s.log = append(c.s.log, "ROLLBACK")
	return nil
}

func (c conn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r := c.s.ask(query, args)
	return result(r), r.err
}

func (c conn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r := c.s.ask(query, args)
	return &rows{left: r.rows}, r.err
}

type result reply

func (r result) LastInsertId() (int64, error) { return r.lastID, nil }
func (r result) RowsAffected() (int64, error) { return r.affected, nil }

type rows struct{ left [][]driver.Value }

func (r *rows) Columns() []string {
	if len(r.left) == 0 {
		return nil
	}
	return make([]string, len(r.left[0]))
}

func (r *rows) Close() error { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(r.left) == 0 {
		return io.EOF
	}
	copy(dest, r.left[0])
	r.left = r.left[1:]
	return nil
}
