//go:build !linux

package child

import "syscall"

// Only Linux has a parent-death signal; elsewhere a child outlives a test
// binary that is killed.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitEnd leaves it to Wait to notice the end.
func awaitEnd(int) bool { return false }
