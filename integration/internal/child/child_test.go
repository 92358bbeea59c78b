package child_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/child"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// asParent makes this test binary the parent that a test kills.
const asParent = "CHILD_TEST_AS_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		parent()
	}
	leakcheck.Main(m)
}

// parent starts a child, names it, and waits for its own end.
func parent() {
	p, err := child.Start(exec.Command("sleep", "1000"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID(), p.Running())
	select {}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has a parent-death signal")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asParent+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, running, _ := strings.Cut(strings.TrimSpace(line), " ")
	require.Equal(t, "true", running, line)
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.True(t, alive(n))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !alive(n) }, 10*time.Second, time.Millisecond)
}

func TestStartOfWhatIsNotThereFails(t *testing.T) {
	_, err := child.Start(exec.Command("/nonexistent"))
	require.ErrorContains(t, err, "child: ")
}

func TestEndedChildIsNotSignalled(t *testing.T) {
	p, err := child.Start(exec.Command("true"))
	require.NoError(t, err)
	require.NoError(t, p.Err())
	require.False(t, p.Running())
	require.Error(t, p.Signal(syscall.SIGTERM))
	p.Kill()
}

// alive tells whether the process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
