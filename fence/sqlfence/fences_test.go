package sqlfence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
)

const (
	lockStatement   = "UPDATE fences SET token = token WHERE resource = $1 RETURNING token, seq"
	updateStatement = "UPDATE fences SET token = $1, seq = $2 WHERE resource = $3"
	createStatement = "INSERT INTO fences (resource, token, seq) VALUES ($1, 0, 0) ON CONFLICT (resource) DO NOTHING"
)

func newFences(t *testing.T, d sqlfence.Dialect, options ...sqlfence.Option) *sqlfence.Fences {
	t.Helper()
	f, err := sqlfence.New(d, options...)
	require.NoError(t, err)
	return f
}

// standing answers a question for the row by the stamp.
func standing(s fence.Stamp) func(string, []driver.Value) reply {
	return func(query string, _ []driver.Value) reply {
		if strings.Contains(query, "RETURNING") || strings.Contains(query, "SELECT") {
			return reply{rows: [][]driver.Value{{int64(s.Token), s.Seq}}}
		}
		return reply{affected: 1}
	}
}

func effect(ctx context.Context) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "EFFECT")
		return err
	}
}

func TestStampAndEffectAreOneTransaction(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{Token: 33})}
	err := newFences(t, sqlfence.PostgreSQL).Tx(t.Context(), s.open(t), "report", fence.Stamp{Token: 34}, effect(t.Context()))
	require.NoError(t, err)
	require.Equal(t, []string{"BEGIN", lockStatement, updateStatement, "EFFECT", "COMMIT"}, s.log)
}

func TestStampThatStandsIsNotWrittenAgain(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{Token: 34})}
	err := newFences(t, sqlfence.PostgreSQL).Tx(t.Context(), s.open(t), "report", fence.Stamp{Token: 34}, effect(t.Context()))
	require.NoError(t, err)
	require.Equal(t, []string{"BEGIN", lockStatement, "EFFECT", "COMMIT"}, s.log)
}

func TestStaleStampIsRolledBackWithoutTheEffect(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{Token: 34})}
	err := newFences(t, sqlfence.PostgreSQL).Tx(t.Context(), s.open(t), "report", fence.Stamp{Token: 33}, effect(t.Context()))
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, "report", stale.Resource)
	require.Equal(t, []string{"BEGIN", lockStatement, "ROLLBACK"}, s.log)
}

func TestEffectThatFailsOrPanicsIsRolledBack(t *testing.T) {
	broken := errors.New("no such account")
	s := &script{answer: standing(fence.Stamp{Token: 33})}
	db, f := s.open(t), newFences(t, sqlfence.PostgreSQL)
	err := f.Tx(t.Context(), db, "report", fence.Stamp{Token: 34}, func(*sql.Tx) error { return broken })
	require.Equal(t, broken, err, "as it is")
	require.Panics(t, func() {
		_ = f.Tx(t.Context(), db, "report", fence.Stamp{Token: 34}, func(*sql.Tx) error { panic("bug") })
	})
	one := []string{"BEGIN", lockStatement, updateStatement, "ROLLBACK"}
	require.Equal(t, append(one, one...), s.log)
}

func TestMissingRowIsMadeOutsideOfTheTransaction(t *testing.T) {
	s := new(script)
	s.answer = func(query string, args []driver.Value) reply {
		made := len(s.log) > 3
		if strings.Contains(query, "RETURNING") && !made {
			return reply{}
		}
		return standing(fence.Stamp{})(query, args)
	}
	err := newFences(t, sqlfence.PostgreSQL).Tx(t.Context(), s.open(t), "report", fence.Stamp{Token: 34, Seq: 1}, effect(t.Context()))
	require.NoError(t, err)
	require.Equal(t, []string{
		"BEGIN", lockStatement, "ROLLBACK", createStatement,
		"BEGIN", lockStatement, updateStatement, "EFFECT", "COMMIT",
	}, s.log)
}

func TestCommitWithoutAnAnswerIsOutcomeUnknown(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{}), commit: driver.ErrBadConn}
	err := newFences(t, sqlfence.PostgreSQL).Install(t.Context(), s.open(t), "report", 34)
	require.ErrorIs(t, err, fence.ErrOutcomeUnknown)
	require.ErrorIs(t, err, driver.ErrBadConn)
}

func TestContextThatEndsWithinTheEffectIsRolledBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: standing(fence.Stamp{})}
	err := newFences(t, sqlfence.PostgreSQL).Tx(ctx, s.open(t), "report", fence.Stamp{Token: 34}, func(*sql.Tx) error {
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fence.ErrOutcomeUnknown)
}

func TestReadersStoreNothing(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{Token: 34})}
	db, f := s.open(t), newFences(t, sqlfence.MySQL)
	require.NoError(t, f.ReadTx(t.Context(), db, "report", 35, func(*sql.Tx) error { return nil }))
	require.ErrorIs(t, f.ReadTx(t.Context(), db, "report", 33, func(*sql.Tx) error { return nil }), fence.ErrStale)
	share := "SELECT token, seq FROM fences WHERE resource = ? LOCK IN SHARE MODE"
	require.Equal(t, []string{"BEGIN", share, "COMMIT", "BEGIN", share, "ROLLBACK"}, s.log)
}

func TestGuardBringsTheTransactionInItsContext(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{Token: 34})}
	g := newFences(t, sqlfence.SQLite).For(s.open(t), "report")
	work := func(ctx context.Context) error { return effect(ctx)(sqlfence.TxFrom(ctx)) }
	require.NoError(t, g.Write(t.Context(), fence.Stamp{Token: 34}, work))
	require.NoError(t, g.Read(t.Context(), 34, work))
	require.ErrorIs(t, g.Install(t.Context(), 33), fence.ErrStale)
	require.Equal(t, []string{
		"BEGIN", "UPDATE fences SET token = token WHERE resource = ? RETURNING token, seq", "EFFECT", "COMMIT",
		"BEGIN", "SELECT token, seq FROM fences WHERE resource = ?", "EFFECT", "COMMIT",
	}, s.log[:8])
	require.Nil(t, sqlfence.TxFrom(t.Context()))
}

func TestOptionsNameTableAndIsolation(t *testing.T) {
	s := &script{answer: standing(fence.Stamp{})}
	f := newFences(t, sqlfence.PostgreSQL, sqlfence.WithTable("app.locks"), sqlfence.WithIsolation(sql.LevelSerializable))
	require.NoError(t, f.Install(t.Context(), s.open(t), "report", 34))
	require.Contains(t, s.log[1], "UPDATE app.locks SET")
	require.Equal(t, driver.IsolationLevel(sql.LevelSerializable), s.isolated)
	require.Contains(t, f.Schema(), "CREATE TABLE IF NOT EXISTS app.locks (")
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	_, err := sqlfence.New(0)
	require.EqualError(t, err, "sqlfence: no such dialect: Dialect(0)")
	_, err = sqlfence.New(sqlfence.SQLite, sqlfence.WithTable("x; DROP TABLE y"))
	require.Error(t, err)
	s := &script{}
	db, f := s.open(t), newFences(t, sqlfence.MySQL)
	for _, name := range []string{"", strings.Repeat("x", 256), "a\x00b", "\xff"} {
		require.Error(t, f.Install(t.Context(), db, name, 34), "%q", name)
	}
	require.Empty(t, s.log)
}
