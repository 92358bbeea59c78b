package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// openExample returns a database with a report in it, and what removes it.
func openExample() (*sql.DB, func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", database.SQLiteName(filepath.Join(dir, "db")))
	if err != nil {
		panic(err)
	}
	if _, err := db.Exec("CREATE TABLE report (id INTEGER PRIMARY KEY, body TEXT, fence INTEGER NOT NULL DEFAULT 0)"); err != nil {
		panic(err)
	}
	if _, err := db.Exec("INSERT INTO report (id, body) VALUES (1, 'empty')"); err != nil {
		panic(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

func body(db *sql.DB) (text string) {
	if err := db.QueryRow("SELECT body FROM report WHERE id = 1").Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

// A transaction under a token: what the holder changes and the fence commit
// together.
func Example_transaction() {
	db, remove := openExample()
	defer remove()
	ctx := context.Background()
	fences, err := sqlfence.New(sqlfence.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fences.Create(ctx, db), fences.Verify(ctx, db))
	write := func(token fence.Token, text string) error {
		return fences.Tx(ctx, db, "report", fence.Stamp{Token: token}, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE report SET body = ? WHERE id = 1", text)
			return err
		})
	}

	fmt.Println(write(33, "draft"))
	fmt.Println(fences.Install(ctx, db, "report", 34))
	fmt.Println(write(33, "late draft"))
	fmt.Println(body(db))
	// Output:
	// <nil> <nil>
	// <nil>
	// <nil>
	// fence: stale at report: offered 33, standing 34: a later grant stands
	// draft
}

// A table with a fence column of its own needs no transaction.
func Example_column() {
	db, remove := openExample()
	defer remove()
	ctx := context.Background()
	column, err := sqlfence.NewColumn(sqlfence.SQLite, "report", "id", "fence")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(column.Update(ctx, db, 1, 34, "body = ?", "final"))
	fmt.Println(column.Update(ctx, db, 1, 33, "body = ?", "late draft"))
	fmt.Println(errors.Is(column.Update(ctx, db, 2, 34, "body = ?", "final"), sql.ErrNoRows))
	fmt.Println(body(db))
	// Output:
	// <nil>
	// fence: stale at report 1: offered 33, standing 34: a later grant stands
	// true
	// final
}

// A service whose handler works in the transaction of the fence: a token that
// comes by HTTP is checked in the database.
func Example_serviceOverSQL() {
	db, remove := openExample()
	defer remove()
	ctx := context.Background()
	fences, err := sqlfence.New(sqlfence.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := fences.Create(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	fenced := &httpfence.Middleware{Guard: httpfence.One(fences.For(db, "report"))}
	handler := fenced.Write(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		tx := sqlfence.TxFrom(r.Context())
		if _, err := tx.ExecContext(r.Context(), "UPDATE report SET body = ? WHERE id = 1", string(text)); err != nil {
			http.Error(w, "not stored", http.StatusInternalServerError) // and rolled back
		}
	}))

	put := func(stamp fence.Stamp, text string) int {
		r := httptest.NewRequest("PUT", "/report", strings.NewReader(text))
		httpfence.SetStamp(r.Header, stamp)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	fmt.Println(put(fence.Stamp{Token: 33, Seq: 1}, "draft"))
	fmt.Println(put(fence.Stamp{Token: 34, Seq: 1}, "final"))
	fmt.Println(put(fence.Stamp{Token: 33, Seq: 2}, "late draft"))
	fmt.Println(body(db))
	// Output:
	// 200
	// 200
	// 412
	// final
}
