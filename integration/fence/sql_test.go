package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// newFences makes the table of fences.
func newFences(t testing.TB, db *database.Database, options ...sqlfence.Option) *sqlfence.Fences {
	t.Helper()
	f, err := sqlfence.New(db.Dialect, options...)
	require.NoError(t, err)
	require.NoError(t, f.Create(t.Context(), db))
	require.NoError(t, f.Verify(t.Context(), db))
	return f
}

func TestInstalledTokenRefusesTheEarlierOnes(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		ctx, f := t.Context(), newFences(t, db)
		standing, err := f.Standing(ctx, db, "report")
		require.NoError(t, err)
		require.Equal(t, fence.Stamp{}, standing)
		require.NoError(t, f.Install(ctx, db, "report", 34))
		require.NoError(t, f.Install(ctx, db, "report", 34))
		require.ErrorIs(t, f.Install(ctx, db, "report", 33), fence.ErrStale)
		for _, other := range []string{"other", "REPORT", "report "} {
			require.NoError(t, f.Install(ctx, db, other, 33), "%q is another resource", other)
		}
	})
}

func TestFailedEffectIsRolledBackWithItsStamp(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		ctx, f, r := t.Context(), newFences(t, db), newResource(t, db)
		broken := errors.New("broken")
		err := f.Tx(ctx, db, "history", fence.Stamp{Token: 34, Seq: 1}, func(tx *sql.Tx) error {
			return errors.Join(r.write(ctx, tx, fence.Stamp{Token: 34, Seq: 1}), broken)
		})
		require.ErrorIs(t, err, broken)
		require.Empty(t, r.history(t))
		require.NoError(t, f.Install(ctx, db, "history", 33))
	})
}

// The row of a resource that nobody has written to cannot be locked, and those
// who all find it missing must not trip over each other.
func TestFirstWritersOfAResourceAllGetAnAnswer(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		f := newFences(t, db)
		for n := range 10 {
			resource := fmt.Sprint("resource ", n)
			failed := make(chan error, writers)
			var wg sync.WaitGroup
			for token := fence.Token(1); token <= writers; token++ {
				wg.Go(func() {
					if err := f.Install(t.Context(), db, resource, token); err != nil && !errors.Is(err, fence.ErrStale) {
						failed <- err
					}
				})
			}
			wg.Wait()
			close(failed)
			require.NoError(t, <-failed)
			standing, err := f.Standing(t.Context(), db, resource)
			require.NoError(t, err)
			require.Equal(t, fence.Stamp{Token: writers}, standing)
		}
	})
}

// The effect adds a row that tells how many it saw, which no database takes for a
// conflict below SERIALIZABLE: each transaction must see what the one before it
// left.
func TestEffectsFollowOneAnotherAtEveryIsolationLevel(t *testing.T) {
	levels := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	for _, d := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.MySQL, sqlfence.SQLite} {
		for _, level := range levels {
			if d == sqlfence.SQLite && level != sql.LevelSerializable {
				continue // it has no other
			}
			t.Run(fmt.Sprintf("%s/%v", database.Name(d), level), func(t *testing.T) {
				db := database.Open(t, d)
				f, r := newFences(t, db, sqlfence.WithIsolation(level)), newResource(t, db)
				var applied, failed atomic.Int64
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						for range 10 {
							stamp := fence.Stamp{Token: 34}
							err := f.Tx(t.Context(), db, "history", stamp, func(tx *sql.Tx) error { return r.write(t.Context(), tx, stamp) })
							if err != nil {
								failed.Add(1)
							} else {
								applied.Add(1)
							}
						}
					})
				}
				wg.Wait()
				require.Len(t, r.history(t), int(applied.Load()))
				r.requireWhole(t)
				if d != sqlfence.PostgreSQL || level == sql.LevelReadCommitted {
					require.Zero(t, failed.Load(), "the row's lock makes them wait, not fail")
				}
				t.Logf("%d applied, %d refused by the database", applied.Load(), failed.Load())
			})
		}
	}
}

func TestReaderSeesNoWriteComeInBetween(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		ctx, f, r := t.Context(), newFences(t, db), newResource(t, db)
		write := func(ctx context.Context, s fence.Stamp) error {
			return f.Tx(ctx, db, "history", s, func(tx *sql.Tx) error { return r.write(ctx, tx, s) })
		}
		require.NoError(t, write(ctx, fence.Stamp{Token: 33}))
		count := func(tx *sql.Tx) (n int) {
			require.NoError(t, tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM history").Scan(&n))
			return n
		}
		err := f.ReadTx(ctx, db, "history", 40, func(tx *sql.Tx) error {
			before := count(tx)
			// A server makes the writer wait for the reader; SQLite lets it write
			// and the reader see what was.
			impatient, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			err := write(impatient, fence.Stamp{Token: 34})
			require.Equal(t, db.Dialect == sqlfence.SQLite, err == nil, "%v", err)
			require.Equal(t, before, count(tx))
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, write(ctx, fence.Stamp{Token: 34}), "the reader's 40 does not stand")
		require.ErrorIs(t, f.ReadTx(ctx, db, "history", 33, func(*sql.Tx) error { return nil }), fence.ErrStale)
	})
}

// A holder that stops within its transaction keeps the others waiting until the
// database gives up on it, which the settings below make it do.
func TestHolderPausedWithinItsTransactionIsGivenUpByTheDatabase(t *testing.T) {
	giveUp := map[string]string{
		"PostgreSQL": "SET LOCAL idle_in_transaction_session_timeout = '100ms'",
		"MariaDB":    "SET SESSION idle_transaction_timeout = 1", // seconds
		"MySQL":      "SET SESSION wait_timeout = 1",
	}
	database.EachServer(t, func(t *testing.T, db *database.Database) {
		ctx, f, r := t.Context(), newFences(t, db), newResource(t, db)
		write := func(s fence.Stamp, pause func()) error {
			return f.Tx(ctx, db, "history", s, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, giveUp[db.Name]); err != nil {
					return err
				}
				defer pause()
				return r.write(ctx, tx, s)
			})
		}
		err := write(fence.Stamp{Token: 33}, func() {
			require.NoError(t, write(fence.Stamp{Token: 34}, func() {}), "it waits, and then its turn comes")
		})
		require.Error(t, err, "33 wakes up and cannot commit")
		require.Equal(t, []fence.Stamp{{Token: 34}}, r.history(t))
	})
}

func TestVerifyFindsUnfitTables(t *testing.T) {
	for name, c := range map[string]struct {
		dialect sqlfence.Dialect
		schema  string
		want    string
	}{
		"no table":                   {sqlfence.SQLite, "", "cannot be added"},
		"no key":                     {sqlfence.SQLite, "CREATE TABLE fences (resource TEXT, token INTEGER, seq INTEGER)", "two rows for one resource"},
		"names that fold case":       {sqlfence.SQLite, "CREATE TABLE fences (resource TEXT COLLATE NOCASE PRIMARY KEY, token INTEGER, seq INTEGER)", "cannot be added"},
		"tokens of 32 bit":           {sqlfence.PostgreSQL, "CREATE TABLE fences (resource TEXT PRIMARY KEY, token INTEGER, seq BIGINT)", "cannot be added"},
		"no key, in PostgreSQL":      {sqlfence.PostgreSQL, "CREATE TABLE fences (resource TEXT, token BIGINT, seq BIGINT)", "two rows for one resource"},
		"MySQL's usual collation":    {sqlfence.MySQL, "CREATE TABLE fences (resource VARCHAR(255) PRIMARY KEY, token BIGINT, seq BIGINT)", "cannot be added"},
		"an engine without rollback": {sqlfence.MySQL, "CREATE TABLE fences (resource VARBINARY(255) PRIMARY KEY, token BIGINT, seq BIGINT) ENGINE=MyISAM", "not transactional"},
	} {
		t.Run(name, func(t *testing.T) {
			db := database.Open(t, c.dialect)
			if c.schema != "" {
				_, err := db.ExecContext(t.Context(), c.schema)
				require.NoError(t, err)
			}
			f, err := sqlfence.New(c.dialect)
			require.NoError(t, err)
			err = f.Verify(t.Context(), db)
			require.ErrorIs(t, err, sqlfence.ErrSchema)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestColumnFencesItsRow(t *testing.T) {
	database.Each(t, func(t *testing.T, db *database.Database) {
		ctx := t.Context()
		_, err := db.ExecContext(ctx, "CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)")
		require.NoError(t, err)
		_, err = db.ExecContext(ctx, "INSERT INTO account (id, balance) VALUES (1, 10), (2, 20)")
		require.NoError(t, err)
		c, err := sqlfence.NewColumn(db.Dialect, "account", "id", "fence")
		require.NoError(t, err)

		require.NoError(t, c.Update(ctx, db, 1, 33, "balance = ?", 11))
		require.NoError(t, c.Update(ctx, db, 1, 34, "balance = ?", 12))
		require.NoError(t, c.Update(ctx, db, 1, 34, "balance = ?", 12), "a repetition changes nothing and is no failure")
		err = c.Update(ctx, db, 1, 33, "balance = ?", 13)
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, fence.StaleError{Resource: "account 1", Offered: fence.Stamp{Token: 33}, Standing: fence.Stamp{Token: 34}}, *stale)
		require.ErrorIs(t, c.Update(ctx, db, 3, 34, "balance = ?", 13), sql.ErrNoRows)
		require.NoError(t, c.Update(ctx, db, 2, 33, "balance = balance + ?", 1), "each row has its own")

		var balance, token int
		require.NoError(t, db.QueryRowContext(ctx, "SELECT balance, fence FROM account WHERE id = 1").Scan(&balance, &token))
		require.Equal(t, []int{12, 34}, []int{balance, token})
	})
}
