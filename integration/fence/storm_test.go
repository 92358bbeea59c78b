package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

const writers = 16

// storm lets the writers take turns under a lock that many of them lose without
// knowing, and counts what became of their writes.
type storm struct {
	arena   *arena
	install func(context.Context, fence.Token) error
	write   func(context.Context, fence.Stamp) error

	applied, refused, repeated atomic.Int64
	wrong                      chan error // holds the first thing that must not happen
}

// run returns that first thing.
func (s *storm) run(ctx context.Context) error {
	s.wrong = make(chan error, 1)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for token, ok := s.arena.acquire(); ok; token, ok = s.arena.acquire() {
				s.hold(ctx, token)
				s.arena.release(token)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-s.wrong:
		return err
	default:
		return nil
	}
}

// hold is what a holder does with its grant: one in four is taken for dead
// before it has done anything, one in four between two of its writes.
func (s *storm) hold(ctx context.Context, token fence.Token) {
	fate := rand.IntN(4)
	if fate == 0 && s.arena.pause(token, laterGranted) {
		s.attempt(ctx, fence.Stamp{Token: token, Seq: 1})
		return
	}
	if err := s.install(ctx, token); err != nil {
		s.judge(token, s.arena.standing(), err)
		return
	}
	s.arena.admitted(token)
	s.attempt(ctx, fence.Stamp{Token: token, Seq: 1})
	if fate == 1 {
		s.arena.pause(token, laterStands)
	}
	s.attempt(ctx, fence.Stamp{Token: token, Seq: 2})
	s.attempt(ctx, fence.Stamp{Token: token, Seq: 1 + int64(rand.IntN(2))}) // once more, or late
}

func (s *storm) attempt(ctx context.Context, stamp fence.Stamp) {
	before := s.arena.standing()
	err := s.write(ctx, stamp)
	if err == nil {
		s.arena.admitted(stamp.Token)
	}
	s.judge(stamp.Token, before, err)
}

func (s *storm) judge(token, before fence.Token, err error) {
	var stale *fence.StaleError
	switch {
	case err == nil && token < before:
		s.report(fmt.Errorf("a write of %v took effect after %v had come to stand", token, before))
	case err == nil:
		s.applied.Add(1)
	case errors.As(err, &stale) && stale.Superseded():
		s.refused.Add(1)
	case errors.As(err, &stale):
		s.repeated.Add(1)
	default:
		s.report(err)
	}
}

func (s *storm) report(err error) {
	select {
	case s.wrong <- err:
	default:
	}
}

// Sixteen writers, a lock that changes hands all the time, holders that pause
// past their grant: no effect of an earlier grant after one of a later, no half
// effect, none lost, none twice.
func TestStormOfStaleHoldersLeavesNoStaleEffect(t *testing.T) {
	report := proof.New(t, "fencing", "Sixteen writers that lose their lock without knowing")
	rows := [][]string{{"database", "grants", "writes applied", "stale writes refused", "repetitions refused", "stale effects"}}
	database.Each(t, func(t *testing.T, db *database.Database) {
		db.SetMaxOpenConns(writers)
		f, r := newFences(t, db), newResource(t, db)
		grants := proof.Size(200, 2000)
		s := &storm{
			arena:   newArena(grants, writers),
			install: func(ctx context.Context, token fence.Token) error { return f.Install(ctx, db, "history", token) },
			write: func(ctx context.Context, stamp fence.Stamp) error {
				return f.Tx(ctx, db, "history", stamp, func(tx *sql.Tx) error { return r.write(ctx, tx, stamp) })
			},
		}
		require.NoError(t, s.run(t.Context()))

		history := r.history(t)
		require.Zero(t, staleEffects(history))
		require.Equal(t, int(s.applied.Load()), len(history), "each write that was told of, and no other")
		r.requireWhole(t)
		seen := make(map[fence.Stamp]bool)
		for _, stamp := range history {
			require.False(t, seen[stamp], "%v took effect twice", stamp)
			seen[stamp] = true
		}
		require.Positive(t, s.refused.Load(), "the storm was no storm")
		require.Positive(t, s.repeated.Load())
		rows = append(rows, []string{db.Version(t), fmt.Sprint(grants), fmt.Sprint(len(history)),
			fmt.Sprint(s.refused.Load()), fmt.Sprint(s.repeated.Load()), "0"})
	})
	report.Table(rows)
}

// The same storm without the guard shows that it would find what it looks for.
func TestStormWithoutAGuardLeavesStaleEffects(t *testing.T) {
	db := database.Open(t, sqlfence.SQLite)
	r := newResource(t, db)
	s := &storm{
		arena:   newArena(200, writers),
		install: func(context.Context, fence.Token) error { return nil },
		write:   func(ctx context.Context, stamp fence.Stamp) error { return r.record(ctx, db, stamp, 0) },
	}
	require.ErrorContains(t, s.run(t.Context()), "took effect after")
	stale := staleEffects(r.history(t))
	require.Positive(t, stale)
	t.Logf("without a guard: %d stale effects", stale)
}
