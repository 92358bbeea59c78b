package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// newTerminal returns a terminal's two ends: the keyboard and screen, and what
// programs read from and write to.
func newTerminal(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	var number, unlocked uint32
	control := func(request uintptr, arg *uint32) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keys.Fd(), request, uintptr(unsafe.Pointer(arg)))
		require.Zero(t, errno)
	}
	control(syscall.TIOCSPTLCK, &unlocked)
	control(syscall.TIOCGPTN, &number)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return keys, tty
}

// onTerminal starts a command in the foreground of a new terminal, from which
// it reads. What it writes is as always.
func onTerminal(t *testing.T, cmd *exec.Cmd) (_ *process, keys *os.File) {
	t.Helper()
	keys, tty := newTerminal(t)
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return start(t, cmd), keys
}

func press(t *testing.T, keys *os.File, text string) {
	t.Helper()
	_, err := keys.WriteString(text)
	require.NoError(t, err)
}

// The keys that send signals.
const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

func TestCommandHasTheTerminalToItself(t *testing.T) {
	t.Parallel()
	p, keys := onTerminal(t, zkrCommand(t, "lock", "--connect", serve(t).ConnectString(), path,
		"--", "sh", "-c", "echo ready; read line; echo got $line"))
	p.stdout.await("ready")
	press(t, keys, "a line\n")
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ready\ngot a line", p.stdout.rest())
}

func TestInterruptKeyReachesTheCommandOnce(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	p, keys := onTerminal(t, zkrCommand(t, "lock", "--connect", srv.ConnectString(), path,
		"--", "sh", "-c", "trap 'echo interrupted' INT; echo ready; until read line; do :; done; echo got $line"))
	p.stdout.await("ready")
	press(t, keys, ctrlC)
	p.stdout.await("interrupted")
	press(t, keys, "one\n")
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ready\ninterrupted\ngot one", p.stdout.rest())
	require.Empty(t, srv.Children(path))
}

func TestCommandThatHoldsALockCannotBeSuspended(t *testing.T) {
	t.Parallel()
	p, keys := onTerminal(t, zkrCommand(t, "lock", "--connect", serve(t).ConnectString(), path,
		"--", "sh", "-c", "echo ready; read line; echo got $line"))
	p.stdout.await("ready")
	press(t, keys, ctrlZ)
	p.stderr.await("cannot be suspended")
	press(t, keys, "a line\n")
	require.Equal(t, 0, p.exit())
}

func TestTerminalGoesBackToWhoeverStartedZkr(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `"$@"; echo ended; read line; echo got $line`, "sh",
		testBinary(t), "lock", "--connect", serve(t).ConnectString(), path, "--", "true")
	cmd.Env = append(os.Environ(), asZkr, inNoTime)
	p, keys := onTerminal(t, cmd)
	p.stdout.await("ended")
	press(t, keys, "a line\n")
	require.Equal(t, 0, p.exit())
	require.Equal(t, "ended\ngot a line", p.stdout.rest())
}
