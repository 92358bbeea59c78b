package sqlfence_test

import (
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
)

func newColumn(t *testing.T, d sqlfence.Dialect) *sqlfence.Column {
	t.Helper()
	c, err := sqlfence.NewColumn(d, "account", "id", "fence")
	require.NoError(t, err)
	return c
}

func TestColumnIsCheckedAndSetInOneStatement(t *testing.T) {
	for d, want := range map[sqlfence.Dialect]string{
		sqlfence.PostgreSQL: "UPDATE account SET owner = $1, balance = $2, fence = $3 WHERE id = $4 AND fence <= $5",
		sqlfence.MySQL:      "UPDATE account SET owner = ?, balance = ?, fence = LAST_INSERT_ID(?) WHERE id = ? AND fence <= ?",
		sqlfence.SQLite:     "UPDATE account SET owner = ?, balance = ?, fence = ? WHERE id = ? AND fence <= ?",
	} {
		t.Run(d.String(), func(t *testing.T) {
			s := &script{answer: func(_ string, args []driver.Value) reply {
				require.Equal(t, []driver.Value{"ann", int64(5), int64(34), int64(1), int64(34)}, args)
				return reply{affected: 1, lastID: 34}
			}}
			err := newColumn(t, d).Update(t.Context(), s.open(t), 1, 34, "owner = ?, balance = ?", "ann", 5)
			require.NoError(t, err)
			require.Equal(t, []string{want}, s.log)
		})
	}
}

func TestColumnTellsAStaleTokenFromAMissingRow(t *testing.T) {
	for name, c := range map[string]struct {
		rows [][]driver.Value
		want error
	}{
		"a later grant":               {[][]driver.Value{{int64(34)}}, fence.ErrStale},
		"no row":                      {nil, sql.ErrNoRows},
		"a row that has just come up": {[][]driver.Value{{int64(0)}}, sql.ErrNoRows},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answer: func(query string, _ []driver.Value) reply {
				if strings.HasPrefix(query, "SELECT") {
					return reply{rows: c.rows}
				}
				return reply{}
			}}
			err := newColumn(t, sqlfence.PostgreSQL).Update(t.Context(), s.open(t), 1, 33, "balance = ?", 5)
			require.ErrorIs(t, err, c.want)
			require.Equal(t, "SELECT fence FROM account WHERE id = $1", s.log[1])
		})
	}
}

func TestMySQLsCountOfChangedRowsIsNotTrusted(t *testing.T) {
	s := &script{answer: func(string, []driver.Value) reply { return reply{affected: 0, lastID: 34} }}
	require.NoError(t, newColumn(t, sqlfence.MySQL).Update(t.Context(), s.open(t), 1, 34, "balance = ?", 5))
}

func TestColumnRefusesWhatCannotBe(t *testing.T) {
	_, err := sqlfence.NewColumn(sqlfence.SQLite, "account", "id = 1 OR id", "fence")
	require.Error(t, err)
	_, err = sqlfence.NewColumn(0, "account", "id", "fence")
	require.Error(t, err)
	s := &script{}
	require.ErrorIs(t, newColumn(t, sqlfence.SQLite).Update(t.Context(), s.open(t), 1, 0, "balance = 1"), fence.ErrNoToken)
	require.Empty(t, s.log)
}
