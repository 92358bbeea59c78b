package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// faultsOnce are what may happen to a request.
var faultsOnce = map[string]func(*zktest.Hook){
	"nothing":      func(h *zktest.Hook) { h.Observe() },
	"request lost": func(h *zktest.Hook) { h.DropBeforeCommit() },
	"reply lost":   func(h *zktest.Hook) { h.DropReply() },
	"refused":      func(h *zktest.Hook) { h.Error(zktest.NoAuth) },
	"throttled":    func(h *zktest.Hook) { h.Error(zktest.Throttled) },
	"late":         func(h *zktest.Hook) { h.Delay(2 * time.Second) },
	"reply late":   func(h *zktest.Hook) { h.DelayReply(2 * time.Second) },
}

// What is made and deleted takes nothing of the budget afterwards, whatever
// became of the answers.
func TestBudgetIsFreeAgainWhenWhatWasMadeIsGone(t *testing.T) {
	for what, make := range map[string]func(ctx context.Context, s *recipes.Session) error{
		"create": func(ctx context.Context, s *recipes.Session) error {
			_, err := s.Create(ctx, "/e", nil, recipes.Ephemeral, nil)
			return err
		},
		"transaction": func(ctx context.Context, s *recipes.Session) error {
			_, err := s.Multi(ctx, recipes.CreateOp("/e", nil, recipes.Ephemeral, nil), recipes.CheckOp("/", -1))
			return err
		},
	} {
		for fault, strike := range faultsOnce {
			t.Run(what+", "+fault, func(t *testing.T) {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					s := zkrtest.Session(t, zkrtest.Dial(t, srv))
					for range 3 {
						strike(srv.On(zktest.Match{Path: "/e"}).Optional())
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						for range 3 {
							_ = make(ctx, s) // again, as who does not know what came of it may
						}
						cancel()
						time.Sleep(5 * time.Second)
						_ = s.Delete(t.Context(), "/e", -1)
						require.Zero(t, s.Reserved())
					}
				})
			})
		}
	}
}

func TestBudgetIsFreeAgainAfterAnExchange(t *testing.T) {
	for fault, strike := range faultsOnce {
		for n := range 12 {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				s := zkrtest.Session(t, c)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				strike(srv.On(zktest.Match{Session: s.ID(), Skip: n}).Optional())
				own, err := c.CreateProtected(ctx, recipes.Protected{Dir: "/a/queue", Name: "n-", Spare: 200})
				if err == nil {
					var come []*recipes.Created
					come, err = s.Exchange(ctx, recipes.Exchange{
						Give:   []*recipes.Owned{own.Owned},
						Take:   []recipes.Protected{{Dir: "/a/b", Name: "n-"}, {Dir: "/a/c", Name: "n-", TouchDir: true}},
						Checks: []recipes.Op{recipes.CheckOp("/a", -1)},
					})
					for _, o := range come {
						o.Discard()
					}
					own.Discard()
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				// Only a znode whose deletion is refused stays, and takes room.
				left := srv.Sessions()[0].Ephemerals
				require.Equal(t, len(left) > 0, s.Reserved() > 0, "%s at request %d: %v", fault, n, err)
				require.True(t, len(left) == 0 || fault == "refused", "%s at request %d", fault, n)
			})
		}
	}
}

// The caller hears of the session's end, and not of the context that ends with
// it.
func TestExchangeSaysThatItsSessionIsOver(t *testing.T) {
	for name, end := range map[string]func(*zktest.Server, *recipes.Client, int64){
		"expired": func(srv *zktest.Server, _ *recipes.Client, id int64) { srv.ExpireSession(id) },
		"closed":  func(_ *zktest.Server, c *recipes.Client, _ int64) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := zkrtest.Dial(t, srv)
					s := zkrtest.Session(t, c)
					own, err := c.CreateProtected(t.Context(), recipes.Protected{Dir: "/a", Name: "n-"})
					require.NoError(t, err)
					hook := srv.On(zktest.Match{Op: zktest.OpMulti})
					hook.WithholdReply()
					go func() {
						<-hook.Hit()
						end(srv, c, s.ID())
					}()
					_, err = s.Exchange(t.Context(), recipes.Exchange{
						Give: []*recipes.Owned{own.Owned},
						Take: []recipes.Protected{{Dir: "/a", Name: "m-"}},
					})
					require.ErrorIs(t, err, recipes.ErrSessionExpired)
					require.Equal(t, name == "closed", errors.Is(err, recipes.ErrClosed))
					require.NotErrorIs(t, err, context.Canceled)
				})
			}
		})
	}
}
