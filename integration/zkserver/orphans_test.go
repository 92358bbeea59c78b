package zkserver

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContainersAreOrphanedWhenTheirOwnerHasEnded(t *testing.T) {
	if startTime(os.Getpid()) == "" {
		t.Skip("only Linux tells when a process started")
	}
	require.False(t, orphaned(self()))
	require.False(t, orphaned("elsewhere 1 2"), "another machine's")
	require.False(t, orphaned("nonsense"))

	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	name := owner(cmd.Process.Pid)
	require.False(t, orphaned(name))
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.True(t, orphaned(name))

	listed := func(owner string) string {
		return `-A INPUT -i lo -p tcp -m comment --comment "` + ownerComment(owner) + `" -j DROP` + "\n"
	}
	_, ok := orphanedRule(listed(self()))
	require.False(t, ok)
	_, ok = orphanedRule("-P INPUT ACCEPT\n")
	require.False(t, ok)
	rule, ok := orphanedRule(listed(name))
	require.True(t, ok)
	require.Equal(t, []string{"INPUT", "-i", "lo", "-p", "tcp", "-m", "comment", "--comment", ownerComment(name), "-j", "DROP"}, rule)
}
