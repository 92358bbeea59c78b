package main

import (
	"syscall"
	"unsafe"
)

// dieWithParent has the kernel kill the process when the thread that starts it
// ends. The guard does more, but can be killed itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// Of waitid(2), which package syscall does not name.
const (
	pidType     = 1 // P_PID
	stoppedCode = 5 // CLD_STOPPED
)

// sigInfo is siginfo_t as waitid fills it in.
type sigInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte // to the alignment of a pointer
	pid, uid, status   int32
	_                  [128]byte // more than the rest of it
}

// awaitEnd waits for the end of a child without reaping it, and tells when a
// key of the terminal suspends it.
func awaitEnd(pid int, paused chan<- struct{}) {
	for {
		var info sigInfo
		if !waitID(pid, &info, syscall.WEXITED|syscall.WSTOPPED|syscall.WNOWAIT) || info.code != stoppedCode {
			return
		}
		waitID(pid, &info, syscall.WSTOPPED|syscall.WNOHANG) // have seen it
		if syscall.Signal(info.status) == syscall.SIGTSTP {
			select {
			case paused <- struct{}{}:
			default:
			}
		}
	}
}

func waitID(pid int, info *sigInfo, options uintptr) bool {
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pidType, uintptr(pid), uintptr(unsafe.Pointer(info)), options, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0
		}
	}
}
