//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is a command that zkr runs. It lives in a process group together with
// whatever it starts and with a guard, which leads the group: signals reach all
// of them, and none of them outlives zkr.
//
// One goroutine uses it.
type child struct {
	guard  *guard
	tty    *terminal // nil unless the group has the terminal
	ended  <-chan result
	paused <-chan struct{}
}

// result is how a command ended.
type result struct {
	code int
	err  error // it could not be started
}

// startChild starts a command in the guard's process group. Where stdin is the
// terminal that zkr is in the foreground of, the command gets that place; it is
// to be taken back when the command has ended. What the command leaves behind is
// left to the guard.
func startChild(g *guard, path string, argv []string, e env) (*child, error) {
	c := &child{guard: g, tty: foreground(e.stdin)}
	cmd := &exec.Cmd{
		Path: path, Args: argv, Env: e.vars,
		Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pgid: g.pid()},
	}
	if c.tty != nil {
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, c.tty.fd
	}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	ended, paused := make(chan result, 1), make(chan struct{}, 1)
	c.ended, c.paused = ended, paused
	// It ends with the command, whose end the caller waits for.
	go func() {
		// Linux kills the child when the thread that started it ends, and Go
		// ends threads as it likes.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			awaitEnd(cmd.Process.Pid, paused)
			ended <- resultOf(cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		c.tty.takeBack()
		return nil, notStarted(err)
	}
	return c, nil
}

func resultOf(err error) result {
	exit := (*exec.ExitError)(nil)
	if err == nil || !errors.As(err, &exit) {
		return result{err: err}
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return result{code: exitSignal + int(status.Signal())}
	}
	return result{code: exit.ExitCode()}
}

// signal sends a signal to the command and all that it has started.
func (c *child) signal(sig syscall.Signal) { c.guard.signalGroup(sig) }

// terminate asks them to end, also those that are stopped.
func (c *child) terminate() {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT)
}

// kill ends them.
func (c *child) kill() { c.signal(syscall.SIGKILL) }

// lookUp finds a command as a shell does.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", notStarted(err)
	}
	return path, nil
}

// self is this program, also where its file was replaced since it was started.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
