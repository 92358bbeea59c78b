package peers

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed CuratorBench.java
var curatorBench []byte

//go:embed kazoo_bench.py
var kazooBench string

// CuratorBench returns the program that runs the cases of package bench with
// Curator. Unlike the peers it runs fast rather than starting fast.
func CuratorBench(t testing.TB, timeout time.Duration) *exec.Cmd {
	t.Helper()
	if err := installed("curator-recipes"); err != nil {
		giveUp(t, err)
	}
	source := filepath.Join(t.TempDir(), "CuratorBench.java")
	if err := os.WriteFile(source, curatorBench, 0o600); err != nil {
		t.Fatalf("peers: %v", err)
	}
	return exec.Command("java", "-Xmx2g", "-cp", path(), source, fmt.Sprint(timeout.Milliseconds()))
}

// KazooBench returns the program that runs them with kazoo.
func KazooBench(t testing.TB, timeout time.Duration) *exec.Cmd {
	t.Helper()
	if err := exec.Command(python, "-c", "import kazoo").Run(); err != nil {
		giveUp(t, fmt.Errorf("peers: no kazoo (python3-kazoo) for %s: %w", python, err))
	}
	return exec.Command(python, "-c", kazooBench, fmt.Sprint(timeout.Milliseconds()))
}
