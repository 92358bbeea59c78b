package fence_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

// childFile names, in a process that the tests kill, the database to write to.
const childFile = "FENCE_SQLITE_FILE"

// writeForever is that process: it writes numbered rows, two in a transaction,
// and prints each number when it begins and when it is safe.
func writeForever(path string) error {
	db, err := sql.Open("sqlite", database.SQLiteName(path))
	if err != nil {
		return err
	}
	f, err := sqlfence.New(sqlfence.SQLite)
	if err != nil {
		return err
	}
	ctx := context.Background()
	token, err := fence.ParseToken(os.Getenv("FENCE_TOKEN"))
	if err != nil {
		return err
	}
	for seq := int64(1); ; seq++ {
		err := f.Tx(ctx, db, "history", fence.Stamp{Token: token, Seq: seq}, func(tx *sql.Tx) error {
			const add = "INSERT INTO history (token, seq, seen) VALUES (?, ?, 0)"
			if _, err := tx.ExecContext(ctx, add, int64(token), seq); err != nil {
				return err
			}
			fmt.Println(-seq) // half of it done
			_, err := tx.ExecContext(ctx, add, int64(token), seq)
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(seq)
	}
}

// SQLite dies with the process that writes. Kills meet it within a transaction,
// right after its first statement, and anywhere.
func TestKilledSQLiteWriterLeavesNoHalfEffectAndItsFence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := &database.Database{DB: database.OpenSQLite(t, path), Dialect: sqlfence.SQLite}
	f, r := newFences(t, db), newResource(t, db)
	for token := fence.Token(1); token <= fence.Token(proof.Size(10, 50)); token++ {
		require.NoError(t, f.Install(t.Context(), db, "history", token))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childFile+"="+path, "FENCE_TOKEN="+token.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		var safe int64
		for range 1 + rand.IntN(20) {
			safe = max(safe, nextLine(t, lines))
		}
		require.NoError(t, cmd.Process.Kill())
		for lines.Scan() {
			n, err := strconv.ParseInt(lines.Text(), 10, 64)
			require.NoError(t, err)
			safe = max(safe, n)
		}
		require.ErrorContains(t, cmd.Wait(), "signal: killed")

		standing, err := f.Standing(t.Context(), db, "history")
		require.NoError(t, err)
		require.Equal(t, token, standing.Token)
		require.GreaterOrEqual(t, standing.Seq, safe)
		require.LessOrEqual(t, standing.Seq, safe+1)
		require.Equal(t, wholeWrites(token, standing.Seq), ofToken(r.history(t), token))
	}
}

func nextLine(t *testing.T, lines *bufio.Scanner) int64 {
	t.Helper()
	require.True(t, lines.Scan())
	n, err := strconv.ParseInt(lines.Text(), 10, 64)
	require.NoError(t, err)
	return n
}

// wholeWrites are the two rows of each write up to that number.
func wholeWrites(token fence.Token, last int64) (all []fence.Stamp) {
	for seq := int64(1); seq <= last; seq++ {
		all = append(all, fence.Stamp{Token: token, Seq: seq}, fence.Stamp{Token: token, Seq: seq})
	}
	return all
}

func ofToken(history []fence.Stamp, token fence.Token) (its []fence.Stamp) {
	for _, s := range history {
		if s.Token == token {
			its = append(its, s)
		}
	}
	return its
}
