package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/worker"
)

// Programs that are compared: the arguments of internal/contestant, and two of
// package peers.
const (
	library  = "zkrecipes"
	ownFloor = "zkrecipes-raw"
	goLock   = "go-zookeeper"
	floor    = "floor"
	curator  = "curator"
	kazoo    = "kazoo"
	etcd     = "etcd"
)

// sessionTimeout is that of all sessions where nothing else is said.
const sessionTimeout = 10 * time.Second

// stepTimeout bounds one command.
const stepTimeout = 3 * time.Minute

// answer is what a program says of a case; see internal/contestant.
type answer struct {
	Error      string  `json:"error"`
	P50        int64   `json:"p50"`
	P90        int64   `json:"p90"`
	Took       int64   `json:"took"`
	Ops        int     `json:"ops"`
	Allocs     float64 `json:"allocs"`
	AllocBytes float64 `json:"alloc_bytes"`
	Heap       float64 `json:"heap"`
	Threads    float64 `json:"threads"`
	Sessions   int     `json:"sessions"`
	At         int64   `json:"at"`
}

// program is a running contestant. It is for one goroutine.
type program struct {
	name string
	t    testing.TB
	w    *worker.Worker
}

// start starts a program whose sessions have the given timeout.
func start(t testing.TB, name string, timeout time.Duration) *program {
	t.Helper()
	var cmd *exec.Cmd
	switch name {
	case curator:
		cmd = peers.CuratorBench(t, timeout)
	case kazoo:
		cmd = peers.KazooBench(t, timeout)
	default:
		bin := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/bench/internal/contestant")
		cmd = exec.Command(bin, name, fmt.Sprint(timeout.Milliseconds()))
	}
	return &program{name: name, t: t, w: worker.Start(t, cmd)}
}

// ask gives a command and returns the answer.
func (p *program) ask(ctx context.Context, words ...any) answer {
	p.t.Helper()
	p.tell(words...)
	return p.hear(ctx)
}

func (p *program) tell(words ...any) {
	p.t.Helper()
	require.NoError(p.t, p.w.Send(strings.TrimSpace(fmt.Sprintln(words...))))
}

// hear returns the next answer.
func (p *program) hear(ctx context.Context) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	line, err := p.w.Receive(ctx)
	require.NoError(p.t, err, "%s\n%s", p.name, p.w.Stderr())
	var a answer
	require.NoError(p.t, json.Unmarshal([]byte(line), &a), "%s: %s", p.name, line)
	require.Empty(p.t, a.Error, "%s\n%s", p.name, p.w.Stderr())
	return a
}
