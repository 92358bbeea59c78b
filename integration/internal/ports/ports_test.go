package ports_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

func TestReservedPortsAreDistinctAndFree(t *testing.T) {
	seen := make(map[int]bool)
	for range 200 {
		p, err := ports.Reserve()
		require.NoError(t, err)
		t.Cleanup(p.Release)
		require.False(t, seen[p.Number])
		seen[p.Number] = true
		l, err := net.Listen("tcp", p.Addr())
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

func TestReleaseMayBeCalledTwice(t *testing.T) {
	p, err := ports.Reserve()
	require.NoError(t, err)
	p.Release()
	p.Release()
}
