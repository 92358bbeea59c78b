package main

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestWatchDrawsOnATerminal(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	take(t, srv, recipes.WithIdentity("me"))
	keys, tty := newTerminal(t)
	size := struct{ rows, columns, x, y uint16 }{rows: 10, columns: 50}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)))
	require.Zero(t, errno)
	cmd := zkrCommand(t, "watch", "--connect", srv.ConnectString(), path)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	screen := bufio.NewReader(keys)
	drawn := readUntil(t, screen, "holds")
	require.True(t, strings.HasPrefix(drawn, enterScreen+home))
	first := readUntil(t, screen, clearRest)
	for _, line := range strings.Split(first, endLine) {
		require.LessOrEqual(t, len([]rune(line)), 50+len(home))
	}
	readUntil(t, screen, home) // again, for the ages
	press(t, keys, ctrlC)
	readUntil(t, screen, leaveScreen)
	require.Error(t, cmd.Wait())
	require.Equal(t, 128+int(syscall.SIGINT), cmd.ProcessState.ExitCode())
}

// readUntil reads to the end of a text.
func readUntil(t *testing.T, r *bufio.Reader, text string) string {
	t.Helper()
	timeout := time.AfterFunc(patience, func() { panic("not drawn: " + text) })
	defer timeout.Stop()
	var b strings.Builder
	for !strings.HasSuffix(b.String(), text) {
		c, err := r.ReadByte()
		require.NoError(t, err)
		b.WriteByte(c)
	}
	return b.String()
}
