// Command writer takes turns at a lock and writes under its leases to a fenced
// history, in a process of its own that a test can freeze. For each grant it
// installs the token, prints it, waits for a line of input, and then writes
// twice and gives the lock back. It prints how many writes took effect and how
// many were refused as stale.
//
// It never looks at its lease: it stands for a process that has looked, and is
// paused before it writes.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func main() {
	connect := flag.String("connect", "", "servers")
	path := flag.String("path", "", "of the lock")
	source := flag.String("source", "", "of the PostgreSQL database")
	timeout := flag.Duration("timeout", 2*time.Second, "session timeout")
	tick := flag.Duration("tick", 500*time.Millisecond, "the servers' tick")
	flag.Parse()
	err := run(*connect, *path, *source, recipes.WithSessionTimeout(*timeout), recipes.WithTickTime(*tick))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(connect, path, source string, opts ...recipes.Option) error {
	ctx := context.Background()
	c, err := recipes.Dial(ctx, connect, opts...)
	if err != nil {
		return err
	}
	defer c.Close()
	mu, err := lock.NewMutex(c, path)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", source)
	if err != nil {
		return err
	}
	defer db.Close()
	fences, err := sqlfence.New(sqlfence.PostgreSQL)
	if err != nil {
		return err
	}
	w := writer{mu: mu, db: db, fences: fences, lines: bufio.NewScanner(os.Stdin)}
	for {
		if err := w.turn(ctx); err != nil {
			return err
		}
	}
}

type writer struct {
	mu     *lock.Mutex
	db     *sql.DB
	fences *sqlfence.Fences
	lines  *bufio.Scanner
}

func (w *writer) turn(ctx context.Context) error {
	lease, err := w.mu.Lock(ctx)
	if err != nil {
		return err
	}
	err = w.fences.Install(ctx, w.db, "history", lease.Token())
	if err != nil && !errors.Is(err, fence.ErrStale) {
		return err
	}
	fmt.Println(lease.Token())
	if !w.lines.Scan() {
		return errors.New("writer: end of input")
	}
	applied, refused := 0, 0
	for seq := range int64(2) {
		switch err := w.write(ctx, fence.Stamp{Token: lease.Token(), Seq: seq + 1}); {
		case err == nil:
			applied++
		case errors.Is(err, fence.ErrStale):
			refused++
		default:
			return err
		}
	}
	fmt.Println(applied, refused)
	if err := lease.Release(ctx); err != nil && !errors.Is(err, recipes.ErrLost) {
		return err
	}
	return nil
}

func (w *writer) write(ctx context.Context, s fence.Stamp) error {
	return w.fences.Tx(ctx, w.db, "history", s, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO history (token, seq) VALUES ($1, $2)", int64(s.Token), s.Seq)
		return err
	})
}
