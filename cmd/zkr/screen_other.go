//go:build !unix

package main

import "os"

// isTerminal reports whether f may be a terminal: a device with characters.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// screenSize finds none: what is drawn with a terminal's escapes is written as
// plain lines here.
func screenSize(*os.File) (rows, columns int, ok bool) { return 0, 0, false }
