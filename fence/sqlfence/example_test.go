package sqlfence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
)

func ExampleFences_Tx() {
	ctx := context.Background()
	db := openToy() // in your program sql.Open with its driver
	defer db.Close()
	fences, err := sqlfence.New(sqlfence.PostgreSQL)
	if err != nil {
		fmt.Println(err)
		return
	}
	withdraw := func(token fence.Token, amount int) error {
		return fences.Tx(ctx, db, "account 1", fence.Stamp{Token: token}, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance - $1 WHERE id = 1", amount)
			return err
		})
	}

	fmt.Println(withdraw(33, 10))
	fmt.Println(fences.Install(ctx, db, "account 1", 34))
	fmt.Println(withdraw(33, 10))
	// Output:
	// <nil>
	// <nil>
	// fence: stale at account 1: offered 33, standing 34: a later grant stands
}

func ExampleColumn_Update() {
	ctx := context.Background()
	db := openToy()
	defer db.Close()
	accounts, err := sqlfence.NewColumn(sqlfence.PostgreSQL, "account", "id", "fence")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(accounts.Update(ctx, db, 1, 34, "balance = ?", 90))
	err = accounts.Update(ctx, db, 1, 33, "balance = ?", 80)
	fmt.Println(errors.Is(err, fence.ErrStale), err)
	// Output:
	// <nil>
	// true fence: stale at account 1: offered 33, standing 34: a later grant stands
}

// openToy returns as much of a database as the examples need: one row of fences
// and one account with a fence column.
func openToy() *sql.DB {
	var row []driver.Value
	column := int64(0)
	return sql.OpenDB(&script{answer: func(query string, args []driver.Value) reply {
		switch {
		case strings.HasPrefix(query, "INSERT INTO fences"):
			row = []driver.Value{int64(0), int64(0)}
		case strings.Contains(query, "RETURNING token, seq") && row != nil:
			return reply{rows: [][]driver.Value{row}}
		case strings.HasPrefix(query, "UPDATE fences SET token = $1"):
			row = args[:2]
		case strings.HasPrefix(query, "SELECT fence FROM account"):
			return reply{rows: [][]driver.Value{{column}}}
		case strings.Contains(query, "fence <="):
			token := args[1].(int64)
			if token < column {
				return reply{}
			}
			column = token
		}
		return reply{affected: 1}
	}})
}
