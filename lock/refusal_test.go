package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What a server may answer to each request of a lock's life.

// refusals are the answers after which the same request would be refused again,
// or whose meaning nobody knows, and what the caller sees of them.
var refusals = map[zktest.Code]error{
	zktest.SystemError:             nil,
	zktest.RuntimeInconsistency:    nil,
	zktest.ConnectionLoss:          nil,
	zktest.MarshallingError:        nil,
	zktest.Unimplemented:           nil,
	zktest.OperationTimeout:        nil,
	zktest.BadArguments:            nil,
	zktest.NoAuth:                  recipes.ErrNoAuth,
	zktest.BadVersion:              recipes.ErrBadVersion,
	zktest.NoChildrenForEphemerals: recipes.ErrNoChildrenForEphemerals,
	zktest.NodeExists:              recipes.ErrNodeExists,
	zktest.NotEmpty:                recipes.ErrNotEmpty,
	zktest.InvalidACL:              recipes.ErrInvalidACL,
	zktest.AuthFailed:              recipes.ErrAuthFailed,
	zktest.NotReadOnly:             nil,
	zktest.NoWatcher:               nil,
	zktest.RequestTimeout:          nil,
	zktest.QuotaExceeded:           nil,
	zktest.Throttled:               nil,
	zktest.Code(-999):              nil,
}

// steps are the requests of one who waits for a lock.
var steps = map[string]zktest.Match{
	"create": {Path: creation},
	"list":   {Op: zktest.OpGetChildren2, Path: path},
	"watch":  {Op: zktest.OpGetData, Path: path + "/*"},
}

// consul#985, #1162, kazoo 5fbd90e: what will not pass is not tried again, and
// leaves nothing.
func TestRefusalOfAnyRequestEndsTheWaitAtOnce(t *testing.T) {
	for name, step := range steps {
		for code, want := range refusals {
			t.Run(name+", "+code.String(), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := join(t, srv), join(t, srv)
					la := a.hold()
					step.Session = b.session()
					refused := srv.On(step).Error(code)
					err := failed(t, b.lock(t.Context()), 0)
					require.Equal(t, 1, refused.Hits())
					if want != nil {
						require.ErrorIs(t, err, want)
					}
					require.NotErrorIs(t, err, recipes.ErrOutcomeUnknown, "the server has said what it did")
					require.Len(t, contenders(srv), 1)
					next := b.wait()
					release(t, la)
					release(t, granted(t, next, 0))
				})
			})
		}
	}
}

// As above: what may pass is tried again.
func TestAnswerThatMayPassEndsNoWait(t *testing.T) {
	for name, step := range steps {
		for _, code := range []zktest.Code{zktest.SessionMoved, zktest.SessionExpired, zktest.NoNode} {
			if name == "watch" && code == zktest.NoNode {
				continue // what is waited for is gone
			}
			t.Run(name+", "+code.String(), func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := join(t, srv), join(t, srv)
					la := a.hold()
					step.Session = b.session()
					srv.On(step).Error(code)
					next := b.lock(t.Context())
					time.Sleep(T + 2*tick) // a place that was lost with its session is free again
					zkrtest.Pending(t, next)
					require.Len(t, contenders(srv), 2)
					release(t, la)
					release(t, granted(t, next, 0))
					require.Empty(t, contenders(srv))
				})
			})
		}
	}
}

// A deletion goes on until the server has said that it would always refuse.
func TestRefusalOfTheDeletionIsRepeatedUnlessItIsFinal(t *testing.T) {
	final := map[zktest.Code]bool{
		zktest.NoAuth: true, zktest.BadVersion: true, zktest.NotEmpty: true, zktest.InvalidACL: true, zktest.AuthFailed: true,
	}
	for code, want := range refusals {
		t.Run(code.String(), func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv)
				la := a.hold()
				srv.On(zktest.Match{Op: zktest.OpDelete, Path: la.Node()}).Error(code)
				start := time.Now()
				err := la.Release(t.Context())
				if final[code] {
					require.ErrorIs(t, err, want)
					require.Zero(t, time.Since(start))
					require.NoError(t, srv.Delete(la.Node()))
				} else {
					require.NoError(t, err)
					require.LessOrEqual(t, time.Since(start), time.Second)
				}
				require.Empty(t, contenders(srv))
				release(t, a.hold())
			})
		})
	}
}
