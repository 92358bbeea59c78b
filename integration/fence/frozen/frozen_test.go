package frozen_test

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

const writers = 16

// The whole of it: sixteen processes, a lock on a real ZooKeeper, a history in a
// real PostgreSQL. Now and then the holder is frozen by SIGSTOP past its lease,
// and thawed when another one's token stands.
func TestHoldersFrozenPastTheirLeaseWriteNothing(t *testing.T) {
	report := proof.New(t, "fencing-frozen", "Holders frozen past their lease, and what they write when they wake up")
	db := database.OpenAlone(t, sqlfence.PostgreSQL)
	prepare(t, db)
	e := zkserver.Start(t, zkserver.Config{Tick: 500 * time.Millisecond})
	g := &game{total: proof.Size(200, 2000), freezeEach: proof.Size(40, 20)}
	g.changed = sync.NewCond(&g.mu)
	program := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/fence/frozen/writer")
	ctx, over := context.WithTimeout(t.Context(), 15*time.Minute)
	defer over()
	args := []string{"-connect", e.Connect(), "-path", zkserver.Path(t), "-source", db.Source}
	failed := make(chan error, writers)
	var wg sync.WaitGroup
	for range writers {
		w := worker.Start(t, exec.Command(program, args...))
		wg.Go(func() {
			if err := g.play(ctx, w, over); err != nil && ctx.Err() == nil {
				failed <- err
				over()
			}
		})
	}
	wg.Wait()
	close(failed)
	require.NoError(t, <-failed)

	applied := requireNoStaleEffect(t, db)
	require.Positive(t, g.frozen)
	require.GreaterOrEqual(t, g.refused, 2*g.frozen, "both writes of each that was frozen")
	report.Printf("%s: %d grants to %d processes, %d of them frozen past their lease; %d writes took effect, %d stale ones were refused, stale effects: 0",
		db.Version(t), g.granted, writers, g.frozen, applied, g.refused)
}

func prepare(t *testing.T, db *database.Database) {
	t.Helper()
	f, err := sqlfence.New(db.Dialect)
	require.NoError(t, err)
	require.NoError(t, f.Create(t.Context(), db))
	_, err = db.ExecContext(t.Context(), "CREATE TABLE history (id BIGSERIAL PRIMARY KEY, token BIGINT NOT NULL, seq BIGINT NOT NULL)")
	require.NoError(t, err)
}

// requireNoStaleEffect returns how many writes took effect.
func requireNoStaleEffect(t *testing.T, db *database.Database) (applied int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT token FROM history ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var token, last fence.Token
	for ; rows.Next(); applied++ {
		require.NoError(t, rows.Scan(&token))
		require.GreaterOrEqual(t, token, last, "an effect of an earlier grant after one of a later")
		last = token
	}
	require.NoError(t, rows.Err())
	return applied
}

// game decides what becomes of each grant.
type game struct {
	total, freezeEach int

	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	stands  fence.Token
	granted int
	frozen  int
	refused int
}

// play leads one process through its grants, until over was called.
func (g *game) play(ctx context.Context, w *worker.Worker, over func()) error {
	for {
		line, err := w.Receive(ctx)
		if err != nil {
			return err
		}
		token, err := fence.ParseToken(line)
		if err != nil {
			return err
		}
		freeze, last := g.grant(token)
		if last {
			over()
		}
		if freeze {
			if err := w.Freeze(); err != nil {
				return err
			}
			g.awaitLater(token)
			if err := w.Thaw(); err != nil {
				return err
			}
		}
		answer, err := w.Ask(ctx, "write")
		if err != nil {
			return err
		}
		if err := g.count(answer); err != nil {
			return err
		}
	}
}

// grant is told of each token once it stands. Of the last grants none is frozen,
// since nobody might come after it.
func (g *game) grant(token fence.Token) (freeze, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stands = max(g.stands, token)
	g.granted++
	g.changed.Broadcast()
	freeze = g.granted%g.freezeEach == 0 && g.granted < g.total-g.freezeEach/2
	if freeze {
		g.frozen++
	}
	return freeze, g.granted == g.total
}

func (g *game) awaitLater(token fence.Token) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.stands <= token {
		g.changed.Wait()
	}
}

func (g *game) count(answer string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var applied, refused int
	if _, err := fmt.Sscan(answer, &applied, &refused); err != nil {
		return fmt.Errorf("answer %q: %w", answer, err)
	}
	g.refused += refused
	return nil
}
