package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// dist builds the last commit, in a folder of its own.
func dist(t *testing.T) (folder string) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, "../..", "git", "clone", "--quiet", ".", clone)
	folder = filepath.Join(t.TempDir(), "dist")
	run(t, clone, "scripts/dist.sh", folder)
	return folder
}

func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// make release-check does the same with nothing in common, not even the compiler's
// cache.
func TestTwoBuildsInTwoFoldersAreTheSame(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("this is no clone of the repository")
	}
	first, second := dist(t), dist(t)
	sums := run(t, first, "cat", "SHA256SUMS")
	require.Equal(t, sums, run(t, second, "cat", "SHA256SUMS"))
	run(t, second, "sha256sum", "--check", "SHA256SUMS")

	archives, err := filepath.Glob(filepath.Join(first, "zkr_*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	run(t, first, "tar", "-xzf", archives[0])
	unpacked := strings.TrimSuffix(archives[0], ".tar.gz")
	said := run(t, unpacked, "./zkr", "version")
	require.Contains(t, said, strings.TrimSpace(run(t, "../..", "git", "rev-parse", "HEAD")))
	require.NotContains(t, said, "dirty")
	for _, file := range []string{"LICENSE", "man/zkr-lock.1", "completion/zkr.bash"} {
		require.FileExists(t, filepath.Join(unpacked, file))
	}
}
