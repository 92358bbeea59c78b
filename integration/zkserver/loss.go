package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

// ErrNoPacketLoss is returned where the kernel offers this process no way to lose
// packets.
var ErrNoPacketLoss = errors.New("zkserver: no packet loss here")

// LosePackets has the kernel drop a share, between 0 and 1, of the packets to and
// from the server's ports, its peers' and its clients' alike, until restore is
// called. TCP then does what it does on a bad line: it waits, sends again, and
// waits for longer.
//
// It takes iptables and the right to use it. The rule names ports of the loopback
// interface that no outgoing connection is ever given, so that it hits nobody
// else; one that outlives a killed test is removed by the next.
func (s *Server) LosePackets(ctx context.Context, share float64) (restore func() error, err error) {
	if s.ens.external() {
		return nil, ErrNoControl
	}
	removeOrphanedRules()
	rule := lossRule(share, s.client, s.quorum, s.election)
	if err := iptables(ctx, append([]string{"-I", "INPUT"}, rule...)...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPacketLoss, err)
	}
	return sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
		defer cancel()
		return iptables(ctx, append([]string{"-D", "INPUT"}, rule...)...)
	}), nil
}

func lossRule(share float64, of ...*ports.Port) []string {
	var list []string
	for _, p := range of {
		if p != nil { // a server without peers has no ports for them
			list = append(list, strconv.Itoa(p.Number))
		}
	}
	return []string{
		"-i", "lo", "-p", "tcp", "-m", "multiport", "--ports", strings.Join(list, ","),
		"-m", "statistic", "--mode", "random", "--probability", strconv.FormatFloat(share, 'f', 4, 64),
		"-m", "comment", "--comment", ownerComment(self()), "-j", "DROP",
	}
}

// iptables takes the lock that its other users take, too.
func iptables(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "iptables", append([]string{"-w"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("iptables: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// A comment is one word, for then iptables prints what it takes.
func ownerComment(owner string) string {
	return ownerLabel + "=" + strings.ReplaceAll(owner, " ", "/")
}

// removeOrphanedRules is called once; it does what it can.
var removeOrphanedRules = sync.OnceFunc(func() {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "iptables", "-w", "-S", "INPUT").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		if rule, ok := orphanedRule(line); ok {
			_ = iptables(ctx, append([]string{"-D"}, rule...)...)
		}
	}
})

// orphanedRule returns the rule that was added by a process that has ended, from
// the line that lists it.
func orphanedRule(line string) (rule []string, ok bool) {
	words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
	if len(words) == 0 || words[0] != "-A" {
		return nil, false
	}
	for _, w := range words {
		if owner, found := strings.CutPrefix(w, ownerLabel+"="); found && orphaned(strings.ReplaceAll(owner, "/", " ")) {
			return words[1:], true
		}
	}
	return nil, false
}
