// Command migration is a service that brings its database up to date when it
// starts, however many instances start at once.
//
// One instance migrates under a lock, the others wait for it. A database's own
// transaction would do for a single step. The lock is for what takes longer than
// one: several steps, and data that is moved in batches. Each batch commits
// together with the token of the lock, so that an instance that was paused, and
// wakes up when another one has gone on in its place, changes nothing any more.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	_ "modernc.org/sqlite"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	lockPath = "/migration/lock"
	resource = "schema" // what the fence is called in the database
)

func main() {
	connect := flag.String("connect", "localhost:2181", "the servers")
	file := flag.String("db", "service.db", "the database, of SQLite")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *connect, *file); err != nil {
		fmt.Fprintln(os.Stderr, "migration:", err)
		os.Exit(1)
	}
	fmt.Println("the database is up to date; here the service would begin")
}

func run(ctx context.Context, connect, file string) error {
	db, err := open(file)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := recipes.Dial(ctx, connect)
	if err != nil {
		return err
	}
	defer client.Close()
	return migrate(ctx, client, db, steps)
}

// open opens a database of SQLite that takes its write lock where a transaction
// begins, and waits for it.
func open(file string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)")
}

// step brings the database one version further, or a part of the way. It is
// called again, in a transaction of its own each time, until it is done.
type step func(context.Context, *sql.Tx) (done bool, err error)

// steps lead from one version to the next; the first makes version 1.
var steps = []step{
	func(ctx context.Context, tx *sql.Tx) (bool, error) {
		_, err := tx.ExecContext(ctx, `CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, tag TEXT)`)
		return true, err
	},
	// Each name gets a tag, a hundred people in a transaction.
	func(ctx context.Context, tx *sql.Tx) (bool, error) {
		res, err := tx.ExecContext(ctx, `UPDATE people SET tag = lower(name) WHERE id IN
			(SELECT id FROM people WHERE tag IS NULL AND name IS NOT NULL LIMIT 100)`)
		if err != nil {
			return false, err
		}
		n, err := res.RowsAffected()
		return n == 0, err
	},
}

// migrate returns nil when the database is at the version that steps lead to.
func migrate(ctx context.Context, client *recipes.Client, db sqlfence.DB, steps []step) error {
	fences, err := sqlfence.New(sqlfence.SQLite)
	if err != nil {
		return err
	}
	if err := fences.Create(ctx, db); err != nil {
		return err
	}
	mu, err := lock.NewMutex(client, lockPath, lock.WithGuards(fences.For(db, resource)))
	if err != nil {
		return err
	}
	return mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		for done := false; !done; {
			err := fences.Tx(ctx, db, resource, fence.Stamp{Token: l.Token()}, func(tx *sql.Tx) (err error) {
				done, err = advance(ctx, tx, steps)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// advance does one transaction's worth, from where the database stands, whoever
// has brought it there.
func advance(ctx context.Context, tx *sql.Tx, steps []step) (done bool, err error) {
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS version (number INTEGER NOT NULL)`); err != nil {
		return false, err
	}
	var version int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM version`).Scan(&version); err != nil {
		return false, err
	}
	if version >= len(steps) {
		return true, nil
	}
	stepDone, err := steps[version](ctx, tx)
	if err != nil || !stepDone {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO version (number) VALUES (?)`, version+1)
	return false, err
}
