//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filefence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockFile returns the file, locked until it is closed or the process ends. It
// is a file of its own, never replaced or removed: a lock on the guarded one
// would be a lock on what the next rename throws away.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	if err := acquire(ctx, file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// acquire asks again and again: the system tells nobody that a lock is free
// except a thread that waits in the call, and such a thread hears no context.
func acquire(ctx context.Context, file *os.File) error {
	wait := time.Millisecond
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("filefence: lock %s: %w", file.Name(), err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("filefence: waiting for %s: %w", file.Name(), ctx.Err())
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
}
