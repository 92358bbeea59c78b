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

//go:embed CuratorElection.java
var curatorElection []byte

//go:embed kazoo_election.py
var kazooElection string

// CuratorElection starts a peer that stands in Apache Curator's elections. It
// and the others that do so have commands of their own:
//
//	lead NAME PATH LAYOUT: stand for election, with the id NAME; held when it is won
//	release NAME: resign
//	leader NAME PATH LAYOUT: who leads, its id in the answer's TEXT
//	participants NAME PATH LAYOUT: all ids there, the leader's first, with commas
//
// where LAYOUT is latch, selector or kazoo. The time of leading begins with FROM
// of held, and ends with FROM of released, or TO of lost.
func CuratorElection(t testing.TB, connect string, timeout time.Duration) *Peer {
	t.Helper()
	source := filepath.Join(t.TempDir(), "CuratorElection.java")
	if err := os.WriteFile(source, curatorElection, 0o600); err != nil {
		t.Fatalf("peers: %v", err)
	}
	return start(t, CuratorProgram(t, source, connect, fmt.Sprint(timeout.Milliseconds())))
}

// KazooElection starts a peer that stands in kazoo's elections.
func KazooElection(t testing.TB, connect string, timeout time.Duration) *Peer {
	t.Helper()
	if err := exec.Command(python, "-c", "import kazoo").Run(); err != nil {
		giveUp(t, fmt.Errorf("peers: no kazoo (python3-kazoo) for %s: %w", python, err))
	}
	return start(t, exec.Command(python, "-c", kazooElection, connect, fmt.Sprint(timeout.Milliseconds())))
}

// Program starts any program that obeys commands as a peer does.
func Program(t testing.TB, cmd *exec.Cmd) *Peer {
	t.Helper()
	return start(t, cmd)
}
