package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var builds struct {
	sync.Mutex
	made map[string]func() (string, error)
}

// Build builds a program of this repository, named by its import path, once for
// each test binary, with the race detector if the test has it, and returns the
// executable.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	builds.Lock()
	if builds.made == nil {
		builds.made = make(map[string]func() (string, error))
	}
	build, ok := builds.made[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) { return buildOnce(pkg) })
		builds.made[pkg] = build
	}
	builds.Unlock()
	path, err := build()
	if err != nil {
		t.Fatalf("worker: %v", err)
	}
	return path
}

// buildOnce keeps executables in the user's cache, where the next run replaces
// them: a test binary that is killed leaves nothing behind. The new one is
// moved into place, for another test binary may be running the old one.
func buildOnce(pkg string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "zkrecipes", "workers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	args := []string{"build", "-o", filepath.Join(tmp, "program")}
	name := strings.ReplaceAll(pkg, "/", "_")
	if raceEnabled {
		args = append(args, "-race")
		name += "_race"
	}
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	path := filepath.Join(dir, name)
	return path, os.Rename(filepath.Join(tmp, "program"), path)
}
