package restored_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/docpages"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	path     = "/locks/report"
	patience = time.Minute
)

// What the ways out of it are, on a real ensemble that was restored from an older
// state, and on one that was wiped: a base of tokens, which the clients add, and
// a later epoch, which the servers begin with. That no way is needed where
// nothing has gone back is shown first.
func TestWaysOutOfARestoredEnsemble(t *testing.T) {
	e := zkserver.Start(t, zkserver.Config{Servers: 3})
	store := fence.NewMemory("store")
	require.NoError(t, grant(t, e, store))
	backup := backUp(t, e)
	for range 2 { // two epochs that the backup knows nothing of
		restart(t, e)
		require.NoError(t, grant(t, e, store))
	}
	highest := standing(t, store)
	t.Logf("greatest token before the loss: %v, epoch %d", highest, highest>>32)

	for name, lose := range map[string]func(*zkserver.Server){
		"restored": func(s *zkserver.Server) { restore(t, s, backup) },
		"wiped":    func(s *zkserver.Server) { require.NoError(t, s.Wipe()) },
	} {
		t.Run(name+", with a base", func(t *testing.T) {
			store := standsAt(t, highest)
			killAll(t, e)
			each(e, lose)
			launch(t, e)
			err := grant(t, e, store)
			require.ErrorIs(t, err, recipes.ErrFenceAhead)
			require.ErrorIs(t, err, fence.ErrStale)
			t.Log(err)

			c := dial(t, e)
			now, err := c.TokenNow(t.Context(), path)
			require.NoError(t, err)
			require.Less(t, now, highest)
			_, _, err = c.RaiseFenceBase(t.Context(), path, highest)
			require.NoError(t, err)
			require.NoError(t, grant(t, e, store))
			t.Logf("with a base of %v the next token is %v", highest, standing(t, store))
			restart(t, e)
			require.NoError(t, grant(t, e, store), "the base stays")
		})
		t.Run(name+", with a later epoch", func(t *testing.T) {
			store := standsAt(t, highest)
			killAll(t, e)
			each(e, lose)
			each(e, func(s *zkserver.Server) { setEpoch(t, s, int64(highest>>32)) })
			launch(t, e)
			require.NoError(t, grant(t, e, store))
			t.Logf("in the epoch after %d the next token is %v", highest>>32, standing(t, store))
			require.Equal(t, highest>>32+1, standing(t, store)>>32)
			restart(t, e)
			require.NoError(t, grant(t, e, store), "the epochs go on from there")
		})
	}
}

func dial(t *testing.T, e *zkserver.Ensemble) *recipes.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := recipes.Dial(ctx, e.Connect())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// grant takes the lock by a client of its own, and installs the token.
func grant(t *testing.T, e *zkserver.Ensemble, store fence.Guard) error {
	t.Helper()
	c := dial(t, e)
	defer c.Close()
	m, err := lock.NewMutex(c, path, lock.WithGuards(store))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return m.Do(ctx, func(context.Context, *recipes.Lease) error { return nil })
}

func standing(t *testing.T, store fence.Guard) fence.Token {
	t.Helper()
	var stale *fence.StaleError
	require.ErrorAs(t, store.Install(t.Context(), 1), &stale)
	return stale.Standing.Token
}

func standsAt(t *testing.T, token fence.Token) fence.Guard {
	t.Helper()
	store := fence.NewMemory("store")
	require.NoError(t, store.Install(t.Context(), token))
	return store
}

func each(e *zkserver.Ensemble, do func(*zkserver.Server)) {
	for _, s := range e.Servers {
		do(s)
	}
}

func killAll(t *testing.T, e *zkserver.Ensemble) {
	t.Helper()
	each(e, func(s *zkserver.Server) { require.NoError(t, s.Kill()) })
}

func launch(t *testing.T, e *zkserver.Ensemble) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	each(e, func(s *zkserver.Server) { require.NoError(t, s.Launch(ctx)) })
	require.NoError(t, e.AwaitServing(ctx))
}

func restart(t *testing.T, e *zkserver.Ensemble) {
	t.Helper()
	killAll(t, e)
	launch(t, e)
}

func version2(s *zkserver.Server) string { return filepath.Join(s.DataDir(), "version-2") }

// backUp stops the ensemble and returns what one server has on disk, as people
// keep it: its snapshots and its logs.
func backUp(t *testing.T, e *zkserver.Ensemble) map[string][]byte {
	t.Helper()
	killAll(t, e)
	kept := make(map[string][]byte)
	entries, err := os.ReadDir(version2(e.Servers[0]))
	require.NoError(t, err)
	for _, f := range entries {
		if strings.HasPrefix(f.Name(), "snapshot.") || strings.HasPrefix(f.Name(), "log.") {
			kept[f.Name()], err = os.ReadFile(filepath.Join(version2(e.Servers[0]), f.Name()))
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, kept)
	launch(t, e)
	return kept
}

func restore(t *testing.T, s *zkserver.Server, kept map[string][]byte) {
	t.Helper()
	require.NoError(t, s.Wipe())
	require.NoError(t, os.MkdirAll(version2(s), 0o755))
	for name, data := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(version2(s), name), data, 0o644))
	}
}

// setEpoch makes the server begin an epoch later than the given one when it is
// started, by what docs/restored-ensembles.md says to do. The servers' user is that
// of the test.
func setEpoch(t *testing.T, s *zkserver.Server, epoch int64) {
	t.Helper()
	require.NoError(t, os.MkdirAll(version2(s), 0o755))
	page := docpages.Find(t, "../../..", "docs/restored-ensembles.md", "acceptedEpoch").Text
	script := strings.Replace(page, "chown zookeeper: ", "ls ", 1)
	require.NotEqual(t, page, script)
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-u", "-c", script)
	cmd.Env = append(os.Environ(), "DATADIR="+filepath.Dir(version2(s)), fmt.Sprint("E=", epoch))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
