package fence_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/internal/docpages"
)

// What docs/fencing.md shows for zkr lock to run. The page says that either of two
// command lines may stand there.
func TestScriptOfThePageIsRefusedUnderAnOlderToken(t *testing.T) {
	script := docpages.Find(t, "../..", "docs/fencing.md", "ZKR_FENCING_TOKEN").Text
	t.Run("psql", func(t *testing.T) {
		folder := t.TempDir()
		db := database.Open(t, sqlfence.PostgreSQL)
		// It is told which database is meant.
		psql := "#!/bin/sh\nexec /usr/bin/psql '" + db.Source + "' \"$@\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(folder, "psql"), []byte(psql), 0o755))
		refusedUnderAnOlderToken(t, db.DB, folder, script)
	})
	t.Run("sqlite3", func(t *testing.T) {
		if _, err := exec.LookPath("sqlite3"); err != nil {
			t.Skip("no sqlite3")
		}
		folder := t.TempDir()
		db := database.OpenSQLite(t, filepath.Join(folder, "report.db"))
		refusedUnderAnOlderToken(t, db, folder, strings.ReplaceAll(script, "psql -qtAc", "sqlite3 report.db"))
	})
}

func refusedUnderAnOlderToken(t *testing.T, db *sql.DB, folder, script string) {
	t.Helper()
	do := func(statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	under := func(token string) error {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "ZKR_FENCING_TOKEN="+token, "PATH="+folder+":"+os.Getenv("PATH"))
		return cmd.Run()
	}
	stands := func(wanted string) {
		var found string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT fence || ' ' || body FROM report").Scan(&found))
		require.Equal(t, wanted, found)
	}
	do("CREATE TABLE report (id INT PRIMARY KEY, body TEXT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)")
	do("INSERT INTO report (id, body) VALUES (7, 'old')")
	require.NoError(t, under("36"))
	stands("36 new")
	do("UPDATE report SET body = 'newer'")
	var refused *exec.ExitError
	require.ErrorAs(t, under("33"), &refused)
	stands("36 newer")
}
