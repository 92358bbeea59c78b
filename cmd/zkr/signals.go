package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// forwarded are the signals that are meant for the command that zkr runs.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGWINCH,
}

// ending are those of them that end zkr while it runs no command.
var ending = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

// survived are signals that would end or stop zkr while it must watch over a
// command: a stopped zkr lets it run on past the lease, and the end of whoever
// reads stderr is no reason to kill it.
var survived = []os.Signal{syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// catch has signals delivered to a channel until stop is called. What was
// ignored when zkr was started, as under nohup, stays ignored, for zkr and for
// the command.
func catch(sigs []os.Signal) (caught <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	for _, sig := range sigs {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	return c, func() { signal.Stop(c) }
}

// untilSignal returns a context that ends when one of the ending signals is
// caught, with bySignal as its cause. The others are dropped: there is nobody to
// send them to. stop joins what it has started.
func untilSignal(ctx context.Context, caught <-chan os.Signal) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case sig := <-caught:
				if isEnding(sig) {
					cancel(bySignal(sig.(syscall.Signal)))
					return
				}
			case <-stopped:
				return
			}
		}
	})
	return ctx, func() {
		close(stopped)
		wg.Wait()
		cancel(nil)
	}
}

func isEnding(sig os.Signal) bool {
	for _, s := range ending {
		if s == sig {
			return true
		}
	}
	return false
}
