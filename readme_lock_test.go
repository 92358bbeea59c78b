package zkrecipes_test

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func saveReport(ctx context.Context, db *sql.DB, body string) error {
	c, err := recipes.Dial(ctx, "zk1:2181,zk2:2181,zk3:2181")
	if err != nil {
		return err
	}
	defer c.Close()

	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		return err
	}
	return mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		// ctx ends before the lease does. The token goes along with the write, and
		// matches no row once somebody else has written with a greater one.
		res, err := db.ExecContext(ctx,
			`UPDATE report SET body = $1, fence = $2 WHERE id = 7 AND fence <= $2`,
			body, int64(l.Token()))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, fence.ErrStale)
		}
		return nil
	})
}
