//go:build unix && !linux

package main

import "syscall"

// dieWithParent does nothing: only Linux kills children with their parent. The
// guard does.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitEnd leaves it to exec.Cmd to notice the end.
func awaitEnd(int, chan<- struct{}) {}
