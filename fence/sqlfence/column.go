package sqlfence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Column is a column of the guarded table itself that holds each row's token: a
// BIGINT NOT NULL DEFAULT 0. A fenced write is then one plain UPDATE, which the
// database takes in one step. Make it with NewColumn.
//
// It fences updates of rows that exist. A row that is deleted takes its fence
// along, and a late writer can insert it anew: mark rows as deleted instead, or
// use [Fences.Tx]. What spans several rows needs Tx too.
type Column struct {
	dialect           Dialect
	table, key, fence string
}

// NewColumn names the table, its primary key and its column of tokens. It
// returns an error for a dialect or a name that cannot be.
func NewColumn(d Dialect, table, key, column string) (*Column, error) {
	if _, ok := dialects[d]; !ok {
		return nil, fmt.Errorf("sqlfence: no such dialect: %v", d)
	}
	if err := checkNames(table, key, column); err != nil {
		return nil, err
	}
	return &Column{dialect: d, table: table, key: key, fence: column}, nil
}

// Update runs UPDATE table SET set…, fence = token WHERE key = id AND fence <=
// token. set holds assignments with ? for each of args, in any dialect, and no
// other question marks. The same grant may write again and again, also twice the
// same: without numbers a repetition is not noticed, so assignments had better
// be such that repeating them changes nothing.
//
// Update returns fence.ErrStale where a later grant has written the row, and
// sql.ErrNoRows where there was none; either has changed nothing. An error of
// the database leaves the outcome unknown unless db is a transaction.
func (c *Column) Update(ctx context.Context, db Querier, id any, token fence.Token, set string, args ...any) error {
	if _, err := (fence.Stamp{}).Admit("", fence.Stamp{Token: token}); err != nil {
		return err
	}
	args = append(append([]any(nil), args...), int64(token), id, int64(token))
	res, err := db.ExecContext(ctx, c.statement(set), args...)
	if err != nil {
		return fmt.Errorf("sqlfence: %w", err)
	}
	if ok, err := c.matched(res, token); ok || err != nil {
		return err
	}
	return c.refusal(ctx, db, id, token)
}

func (c *Column) statement(set string) string {
	value := "?"
	if c.dialect == MySQL {
		value = "LAST_INSERT_ID(?)" // see matched
	}
	return c.dialect.rebind(fmt.Sprintf("UPDATE %s SET %s, %s = %s WHERE %s = ? AND %s <= ?",
		c.table, set, c.fence, value, c.key, c.fence))
}

// matched tells whether there was a row to update. MySQL counts only rows that
// came out different, unless the driver asked otherwise, and a repetition changes
// nothing; but it reports the argument of LAST_INSERT_ID if it came to evaluate
// it.
func (c *Column) matched(res sql.Result, token fence.Token) (bool, error) {
	read := res.RowsAffected
	if c.dialect == MySQL {
		read = res.LastInsertId
	}
	n, err := read()
	if err != nil {
		return false, fmt.Errorf("sqlfence: %w: the update's result: %w", fence.ErrOutcomeUnknown, err)
	}
	return n != 0, nil
}

// refusal finds out why no row matched. Tokens never go down, so one that would
// match by now was not there a moment ago.
func (c *Column) refusal(ctx context.Context, db Querier, id any, token fence.Token) error {
	query := c.dialect.rebind(fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", c.fence, c.table, c.key))
	var standing fence.Stamp
	if err := db.QueryRowContext(ctx, query, id).Scan(&standing.Token); err != nil {
		return fmt.Errorf("sqlfence: %s: nothing was updated: %w", c.row(id), err)
	}
	if _, err := standing.Admit(c.row(id), fence.Stamp{Token: token}); err != nil {
		return err
	}
	return fmt.Errorf("sqlfence: %s: nothing was updated: %w", c.row(id), sql.ErrNoRows)
}

func (c *Column) row(id any) string { return fmt.Sprintf("%s %v", c.table, id) }
