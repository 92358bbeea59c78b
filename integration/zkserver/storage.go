package zkserver

import (
	"os"
	"syscall"
)

const (
	tmpfs = "/dev/shm"
	// enoughRoom is what an ensemble may write in the largest tests; a
	// container's default tmpfs is smaller.
	enoughRoom = 1 << 30
)

// storageDir returns the parent of the data; "" is the temporary folder.
func storageDir(s Storage) string {
	var fs syscall.Statfs_t
	if s != Memory || syscall.Statfs(tmpfs, &fs) != nil {
		return ""
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < enoughRoom {
		return ""
	}
	if probe, err := os.MkdirTemp(tmpfs, "probe-"); err != nil || os.Remove(probe) != nil {
		return ""
	}
	return tmpfs
}
