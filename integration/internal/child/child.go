// Package child runs processes that do not outlive the test binary.
//
// Each child leads a process group of its own, is signalled and killed as that
// group, and dies with the test binary even where that one is killed or ends
// in a panic, when no deferred call runs.
package child

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Process is a started child. All methods may be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu     sync.Mutex // guards reaped: no signal after the pid may be another's
	reaped bool
	err    error // set before done is closed
}

// Start starts cmd, which must not have been started before.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	return p, nil
}

// run owns the process from its start until it has been reaped; Kill joins it.
//
// It keeps one thread: Linux sends the parent-death signal when the thread
// that forked ends, and Go ends threads as it likes.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	if awaitEnd(p.cmd.Process.Pid) {
		p.mu.Lock()
		// The group's stragglers hold the output pipes open and would keep Wait.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.reaped = true
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	close(p.done)
}

// PID is the child's process id, which is also that of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended and its output has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the end and returns what [exec.Cmd.Wait] returned.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Running tells whether the child has not ended yet; a stopped child runs.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal sends sig to the child's process group.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return fmt.Errorf("child: signal %v: process %d has ended", sig, p.cmd.Process.Pid)
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("child: signal %v: %w", sig, err)
	}
	return nil
}

// Kill ends the process group by SIGKILL and returns when the child has been
// reaped. Killing a child that has ended is no error.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}
