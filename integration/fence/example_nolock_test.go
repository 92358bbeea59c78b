package fence_test

import (
	"context"
	"fmt"
)

// A unique constraint decides who is first without a lock, and a number given
// to each request makes its repetition harmless.
func Example_uniqueConstraint() {
	db, remove := openExample()
	defer remove()
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "CREATE TABLE payment (request TEXT PRIMARY KEY, amount INTEGER)"); err != nil {
		fmt.Println(err)
		return
	}
	pay := func(request string, amount int) string {
		res, err := db.ExecContext(ctx, "INSERT INTO payment VALUES (?, ?) ON CONFLICT DO NOTHING", request, amount)
		if err != nil {
			return err.Error()
		}
		if n, _ := res.RowsAffected(); n == 0 {
			return "paid before"
		}
		return "paid"
	}
	fmt.Println(pay("order-7", 100))
	fmt.Println(pay("order-7", 100))
	// Output:
	// paid
	// paid before
}

// Compare and set: who changes a row says which version it has read, and starts
// over if somebody else was faster. Late writers are refused without any token.
func Example_compareAndSet() {
	db, remove := openExample()
	defer remove()
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "ALTER TABLE report ADD COLUMN version INTEGER NOT NULL DEFAULT 1"); err != nil {
		fmt.Println(err)
		return
	}
	save := func(read int, text string) string {
		res, err := db.ExecContext(ctx, "UPDATE report SET body = ?, version = version + 1 WHERE id = 1 AND version = ?", text, read)
		if err != nil {
			return err.Error()
		}
		if n, _ := res.RowsAffected(); n == 0 {
			return "changed since it was read"
		}
		return "saved"
	}
	fmt.Println(save(1, "by ann"))
	fmt.Println(save(1, "by ben"))
	fmt.Println(body(db))
	// Output:
	// saved
	// changed since it was read
	// by ann
}
