package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const tagged = `SELECT count(*) FROM people WHERE tag = lower(name)`

// people makes a database in which there are people without tags.
func people(t *testing.T) *sql.DB {
	t.Helper()
	db := opened(t, filepath.Join(t.TempDir(), "service.db"))
	_, err := db.Exec(`CREATE TABLE version (number INTEGER NOT NULL); INSERT INTO version (number) VALUES (1);
		CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, tag TEXT);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
		INSERT INTO people (name) SELECT 'P' || i FROM n`)
	require.NoError(t, err)
	return db
}

func opened(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := open(file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(query).Scan(&n))
	return n
}

func client(t *testing.T, dial recipes.DialFunc, srv *zktest.Server) *recipes.Client {
	t.Helper()
	c, err := recipes.Dial(t.Context(), srv.ConnectString(), recipes.WithDialer(dial), recipes.WithClock(recipes.MonotonicClock()))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestInstancesThatStartAtOnceMigrateOnce(t *testing.T) {
	srv := zktest.Start(t)
	db := people(t)
	var file string
	require.NoError(t, db.QueryRow(`SELECT file FROM pragma_database_list`).Scan(&file))
	results := make(chan error)
	for range 8 {
		go func() { results <- run(t.Context(), srv.ConnectString(), file) }()
	}
	for range 8 {
		require.NoError(t, <-results)
	}
	require.Equal(t, 450, count(t, db, tagged))
	require.Equal(t, len(steps), count(t, db, `SELECT count(*) FROM version`))
}

func TestEmptyDatabaseIsBroughtUpToDate(t *testing.T) {
	srv := zktest.Start(t)
	file := filepath.Join(t.TempDir(), "service.db")
	require.NoError(t, run(t.Context(), srv.ConnectString(), file))
	require.Equal(t, len(steps), count(t, opened(t, file), `SELECT count(*) FROM version`))
}

// pausing is a database at which the instance is paused right before its second
// batch.
type pausing struct {
	*sql.DB
	t     *testing.T
	pause func() // nil when that is over
}

func (p *pausing) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	if pause := p.pause; pause != nil && count(p.t, p.DB, tagged) == 100 {
		p.pause = nil
		pause()
	}
	return p.DB.BeginTx(ctx, opts)
}

// The first instance stops between two batches and hears of nothing: its session
// ends, and another one migrates to the end. Then it goes on, and believes.
func TestInstanceThatWasPausedChangesNothingAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t, zktest.WithInMemory())
		db := people(t)
		cable := srv.Cable()
		paused, next := client(t, cable.DialContext, srv), client(t, srv.DialContext, srv)
		session, err := paused.Session(t.Context())
		require.NoError(t, err)
		err = migrate(t.Context(), paused, &pausing{DB: db, t: t, pause: func() {
			cable.Blackhole(zktest.BothWays)
			srv.ExpireSession(session.ID())
			require.NoError(t, migrate(t.Context(), next, db, steps))
			_, err := db.Exec(`UPDATE people SET tag = NULL`) // what a late batch would change
			require.NoError(t, err)
		}}, steps)
		require.ErrorIs(t, err, fence.ErrStale)
		require.Zero(t, count(t, db, tagged))
		cable.Restore()
	})
}
