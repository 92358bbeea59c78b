package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Between renewals little travels but pings, and with an unknown tick what was
// answered has to be old to be of use. Where a single one is late there may be
// nothing left that this connection can prove the session by in time.
func TestLatePingCostsNoLease(t *testing.T) {
	for name, late := range map[string]func(*zktest.Hook){
		"late":  func(h *zktest.Hook) { h.DelayReply(T * 3 / 10) },
		"never": func(h *zktest.Hook) { h.WithholdReply() },
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv)
				la := a.hold()
				h := srv.On(zktest.Match{Op: zktest.OpPing, Session: a.session()})
				late(h)
				time.Sleep(4 * T)
				require.NotZero(t, h.Hits())
				release(t, la)
			})
		})
	}
}
