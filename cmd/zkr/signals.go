package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ending are the signals that end zkr while it runs no command.
var ending = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

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

// ended returns why something ended early that ctx bounds: by a signal, or else
// as err says.
func ended(ctx context.Context, err error) error {
	if end := (*exited)(nil); errors.As(context.Cause(ctx), &end) {
		return end
	}
	return err
}

func isEnding(sig os.Signal) bool {
	for _, s := range ending {
		if s == sig {
			return true
		}
	}
	return false
}
