package fence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

func TestCrashWithinATransactionKeepsTheFenceAndNoHalfEffect(t *testing.T) {
	database.EachServer(t, func(t *testing.T, db *database.Database) {
		f, r := newFences(t, db), newResource(t, db)
		ctx := t.Context()
		write := func(s fence.Stamp, then func()) error {
			return f.Tx(ctx, db, "history", s, func(tx *sql.Tx) error {
				if err := r.write(ctx, tx, s); err != nil {
					return err
				}
				then()
				return nil
			})
		}
		nothing := func() {}
		require.NoError(t, write(fence.Stamp{Token: 33, Seq: 1}, nothing))
		require.NoError(t, f.Install(ctx, db, "history", 34))
		require.Error(t, write(fence.Stamp{Token: 35, Seq: 1}, db.Crash))
		require.NoError(t, db.Restart(ctx))

		require.Equal(t, []fence.Stamp{{Token: 33, Seq: 1}}, r.history(t))
		r.requireWhole(t)
		standing, err := f.Standing(ctx, db, "history")
		require.NoError(t, err)
		require.Equal(t, fence.Stamp{Token: 34}, standing, "neither 34's fence is lost nor 35's kept")
		require.ErrorIs(t, write(fence.Stamp{Token: 33, Seq: 2}, nothing), fence.ErrStale)
		require.NoError(t, write(fence.Stamp{Token: 35, Seq: 1}, nothing), "no lock has stayed")
	})
}

// Each stream writes to a resource of its own, in numbered writes of two rows
// that it sends again until they are applied, whatever became of the attempts.
func TestCrashesLeaveEachNumberedWriteAppliedOnce(t *testing.T) {
	const streams, perStream = 8, 40
	crashes := proof.Size(2, 10)
	database.EachServer(t, func(t *testing.T, db *database.Database) {
		f, r := newFences(t, db), newResource(t, db)
		send := func(resource string, s fence.Stamp) error {
			return f.Tx(t.Context(), db, resource, s, func(tx *sql.Tx) error {
				return errors.Join(r.record(t.Context(), tx, s, 0), r.record(t.Context(), tx, s, 0))
			})
		}
		var up sync.RWMutex // held for writing while the server is down
		done := make(chan struct{}, streams*perStream)
		var failed, found atomic.Int64 // attempts that failed, and those that were applied all the same
		var wg sync.WaitGroup
		for stream := range streams {
			wg.Go(func() {
				name := fmt.Sprint("stream ", stream)
				for seq := range perStream {
					stamp := fence.Stamp{Token: fence.Token(stream + 1), Seq: int64(seq + 1)}
					for err := send(name, stamp); err != nil; err = send(name, stamp) {
						if applied(err) {
							found.Add(1)
							break
						}
						failed.Add(1)
						awaitRestart(&up)
					}
					done <- struct{}{}
				}
			})
		}
		for range crashes {
			for range streams * perStream / (crashes + 1) {
				<-done
			}
			up.Lock()
			db.Crash()
			err := db.Restart(t.Context())
			up.Unlock()
			require.NoError(t, err)
		}
		wg.Wait()
		require.Positive(t, failed.Load(), "the crashes met no write")
		t.Logf("%d crashes, %d attempts failed, %d of them found applied", crashes, failed.Load(), found.Load())
		next := make(map[fence.Token]int64) // rows of each stream so far
		for _, s := range r.history(t) {
			require.Equal(t, next[s.Token]/2+1, s.Seq, "stream %v", s.Token)
			next[s.Token]++
		}
		for stream := range streams {
			require.Equal(t, int64(2*perStream), next[fence.Token(stream+1)])
		}
	})
}

// applied tells that a write sent again had taken effect before.
func applied(err error) bool {
	var stale *fence.StaleError
	return errors.As(err, &stale) && stale.Applied()
}

func awaitRestart(up *sync.RWMutex) {
	up.RLock()
	defer up.RUnlock()
}
