package zkserver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// With all packets lost nothing answers, on this server's ports alone; with a
// third of them everything does in the end.
func TestServerLosesItsPacketsAndNobodyElsesDo(t *testing.T) {
	e := start(t, zkserver.Config{Servers: 3})
	victim, other := e.Servers[0], e.Servers[1]

	restore, err := victim.LosePackets(t.Context(), 1)
	if errors.Is(err, zkserver.ErrNoPacketLoss) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = restore() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = victim.Word(ctx, "ruok")
	require.ErrorContains(t, err, "timeout")
	_, err = other.Word(within(t), "ruok")
	require.NoError(t, err)
	require.NoError(t, restore())
	require.NoError(t, restore(), "restoring twice is no error")

	restore, err = victim.LosePackets(t.Context(), 0.3)
	require.NoError(t, err)
	t.Cleanup(func() { _ = restore() })
	// One question waits for three lost packets in a row no longer than it may.
	eventually(t, "an answer comes through", func() bool {
		_, err := victim.Word(within(t), "ruok")
		return err == nil
	})
	require.NoError(t, restore())
	require.NoError(t, victim.AwaitServing(within(t)))
}
