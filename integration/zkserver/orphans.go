package zkserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/client"
)

// Containers and data folders do not vanish with a test binary that is killed.
// So each one carries its owner's name, and the next test binary removes those
// whose owner is gone.
const (
	ownerLabel = "zkrecipes.owner" // of a container
	ownerFile  = "owner"           // in a data folder
	dirPrefix  = "zkrecipes-"
)

// newDataDir makes a data folder of this process below parent.
func newDataDir(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, dirPrefix)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, ownerFile), []byte(self()), 0o600)
}

// removeOrphanedDirs is called once; it does what it can.
var removeOrphanedDirs = sync.OnceFunc(func() {
	for _, parent := range []string{tmpfs, os.TempDir()} {
		files, _ := filepath.Glob(filepath.Join(parent, dirPrefix+"*", ownerFile))
		for _, file := range files {
			if name, err := os.ReadFile(file); err == nil && orphaned(string(name)) {
				_ = os.RemoveAll(filepath.Dir(file))
			}
		}
	}
})

// self names this process: machine, pid, and the time it started, for pids are
// used again.
func self() string { return owner(os.Getpid()) }

func owner(pid int) string {
	return fmt.Sprintf("%s %d %s", hostname(), pid, startTime(pid))
}

func hostname() string {
	name, _ := os.Hostname() // "" is nobody's
	return name
}

// startTime is the 22nd field of the process's stat; "" if there is none.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field, the command in parentheses, may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// orphaned tells whether the named owner was a process of this machine that has
// ended.
func orphaned(name string) bool {
	fields := strings.Fields(name)
	if len(fields) != 3 || fields[0] != hostname() {
		return false
	}
	pid, err := strconv.Atoi(fields[1])
	return err == nil && owner(pid) != name
}

// removeOrphans removes containers; what it must leave, the next one finds.
func (d *docker) removeOrphans(ctx context.Context) {
	list, err := d.client.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", ownerLabel),
	})
	if err != nil {
		return
	}
	for _, c := range list.Items {
		if orphaned(c.Labels[ownerLabel]) {
			// It fails where another test binary is removing the same one.
			_, _ = d.client.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
	}
}
