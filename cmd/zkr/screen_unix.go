//go:build unix

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal reports whether f is a terminal, this process's or another one.
func isTerminal(f *os.File) bool {
	_, _, ok := screenSize(f)
	return ok
}

// screenSize returns the size of a terminal; ok is false where f is none. One that
// knows no size of its own has that of a bare one.
func screenSize(f *os.File) (rows, columns int, ok bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0, 0, false
	}
	if size.rows == 0 || size.columns == 0 {
		return 24, 80, true
	}
	return int(size.rows), int(size.columns), true
}
