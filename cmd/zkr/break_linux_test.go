package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBreakAsksOnTheTerminal(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	victim := standing(t, dial(t, srv), path, "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce33-lock-", "me")
	for _, step := range []struct {
		answer string
		code   int
		left   int
	}{{"n\n", exitNotAcquired, 1}, {"\n", exitNotAcquired, 1}, {ctrlC, 128 + int(syscall.SIGINT), 1}, {"y\n", 0, 0}} {
		p, keys := onTerminal(t, zkrCommand(t, "break", "--connect", srv.ConnectString(), path, "--contender", nameOf(victim)))
		p.stdout.await("me holds /locks/job")
		press(t, keys, step.answer)
		require.Equal(t, step.code, p.exit())
		require.Contains(t, p.stderr.rest(), "Delete it? [y/N]")
		require.Len(t, srv.Children(path), step.left)
	}
}
