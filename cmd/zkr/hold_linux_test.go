package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandDiesWithZkrEvenWithoutItsGuard(t *testing.T) {
	t.Parallel()
	out, script := ownStream(t, `echo pid $$; trap "" TERM; `+forLong)
	p := zkrLock(t, serve(t), script...)
	require.NoError(t, syscall.Kill(groupOf(t, out.await("pid ")), syscall.SIGKILL))
	p.signal(syscall.SIGKILL)
	out.awaitEnd()
}
