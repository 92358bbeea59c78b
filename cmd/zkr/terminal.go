//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is a terminal in whose foreground zkr was started.
type terminal struct{ fd int }

// foreground returns the terminal that f is, nil if it is none, or not ours to
// read: a background process that reads from its terminal is stopped.
func foreground(f *os.File) *terminal {
	t := &terminal{fd: int(f.Fd())}
	var group int32
	if !t.control(syscall.TIOCGPGRP, &group) || int(group) != syscall.Getpgrp() {
		return nil
	}
	return t
}

// takeBack makes zkr's process group the foreground again. A shell that started
// zkr would do so by itself, but not a script.
func (t *terminal) takeBack() {
	if t == nil {
		return
	}
	// Who is in the background and does this is stopped otherwise.
	signal.Ignore(syscall.SIGTTOU)
	group := int32(syscall.Getpgrp())
	t.control(syscall.TIOCSPGRP, &group)
}

func (t *terminal) control(request uintptr, group *int32) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(t.fd), request, uintptr(unsafe.Pointer(group)))
	return errno == 0
}
