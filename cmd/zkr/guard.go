//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// guard is a process that leads the process group of a command and kills it
// when zkr dies, however that came. It does so for what the command has started
// too, which nothing else does. While it has not been reaped the group's number
// cannot come to be another group's.
type guard struct {
	cmd   *exec.Cmd
	leash *os.File // its other end in the guard reads EOF when zkr is dead
}

// startGuard starts a guard, in a process group of its own.
func startGuard(e env) (*guard, error) {
	path, err := self()
	if err != nil {
		return nil, fmt.Errorf("cannot find the guard's program: %w", err)
	}
	reads, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reads.Close()
	cmd := &exec.Cmd{
		Path: path, Args: []string{"zkr", "guard"}, Env: e.vars,
		Stdin: reads, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := startReady(cmd); err != nil {
		leash.Close()
		return nil, fmt.Errorf("cannot start the guard: %w", err)
	}
	return &guard{cmd, leash}, nil
}

// startReady starts a guard and waits until signals do it no harm any more.
func startReady(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	defer out.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		_ = cmd.Process.Kill() // Wait tells what came of it
		return fmt.Errorf("it is not ready: %w", cmd.Wait())
	}
	return nil
}

func (g *guard) pid() int { return g.cmd.Process.Pid }

// signalGroup sends a signal to all processes of the group.
func (g *guard) signalGroup(sig syscall.Signal) {
	// That there is no such process means that the guard was killed and that
	// nobody else is left.
	_ = syscall.Kill(-g.pid(), sig)
}

// end kills the group and reaps the guard.
func (g *guard) end() {
	g.signalGroup(syscall.SIGKILL)
	_ = g.cmd.Wait() // killed
	g.leash.Close()
}

// guardCommand is what the guard's process runs.
func guardCommand() command {
	return command{
		name:   "guard",
		short:  "kill this process group when stdin ends",
		hidden: true,
		setup: func(fs *flags) runner {
			return noArgs("guard", func(context.Context) error { return guardGroup(fs.env) })
		},
	}
}

func guardGroup(e env) error {
	if syscall.Getpgrp() != os.Getpid() {
		return usagef("guard is for zkr itself: it would kill a process group that is not its own")
	}
	signal.Ignore() // all that are for the command
	if _, err := e.stdout.Write([]byte{'\n'}); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, e.stdin)
	return syscall.Kill(0, syscall.SIGKILL)
}
