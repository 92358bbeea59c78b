package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// The case that locks with sessions alone get wrong. A follower that is cut off
// from its leader goes on answering its clients for syncLimit ticks. Whoever
// holds a lock through it sees nothing amiss while its session ends elsewhere
// and the lock is given to somebody else.
//
// Curator's users are told to give up in a ConnectionStateListener, when it says
// SUSPENDED, or else LOST: both instants are taken from the same holder.
func TestHolderPinnedToAFollowerCutOffStopsBeforeTheNextOneBegins(t *testing.T) {
	t.Parallel()
	report := proof.New(t, "headline", "A holder pinned to a follower that is cut off from its leader")
	h := startHeadline(t)
	for range proof.Size(1, 50) {
		h.round(t)
	}
	rows := [][]string{{"holder", "repetitions", "believed beside the next holder", "after the next grant: least", "median", "most"}}
	for _, name := range headlineRows {
		after := h.after[name]
		slices.Sort(after)
		beside := 0
		for _, d := range after {
			if d > 0 {
				beside++
			}
		}
		rows = append(rows, []string{name, fmt.Sprint(len(after)), fmt.Sprint(beside),
			fmt.Sprint(ms(after[0])), fmt.Sprint(ms(after[len(after)/2])), fmt.Sprint(ms(after[len(after)-1]))})
	}
	report.Table(rows)
	report.Printf("How long the old holder still believed after the next one had been granted the lock; below zero it had stopped before. T = %v, a tick is %v, syncLimit %d ticks; %s.",
		headlineT, tick, headlineSync, h.ens.Provider())
	for _, d := range h.after[ours] {
		require.Negative(t, d, "believed in when the next lease was granted")
	}
}

const (
	headlineT    = 4 * time.Second
	headlineSync = 24 // 1.5 T

	ours      = "zkrecipes"
	suspended = "Curator's InterProcessMutex, stopping at SUSPENDED"
	lost      = "Curator's InterProcessMutex, stopping at LOST"
)

var headlineRows = []string{ours, suspended, lost}

type headline struct {
	ens    *zkserver.Ensemble
	pinned *zkserver.Server
	client *recipes.Client

	old, next               *worker.Worker
	curatorOld, curatorNext *peers.Peer
	root                    string
	rounds                  int
	after                   map[string][]time.Duration
}

func startHeadline(t *testing.T) *headline {
	h := &headline{root: zkserver.Path(t), after: make(map[string][]time.Duration)}
	h.ens = zkserver.Start(t, zkserver.Config{Servers: 3, Tick: tick, Settings: map[string]string{"syncLimit": fmt.Sprint(headlineSync)}})
	ctx := bounded(t, startTimeout)
	leader, err := h.ens.Leader(ctx)
	require.NoError(t, err)
	var others []string
	for _, s := range h.ens.Servers {
		if s != leader && h.pinned == nil {
			h.pinned = s
			continue
		}
		others = append(others, s.Addr())
	}
	rest := strings.Join(others, ",")
	h.client, err = recipes.Dial(ctx, leader.DirectAddr(), recipes.WithSessionTimeout(30*time.Second))
	require.NoError(t, err)
	t.Cleanup(h.client.Close)
	h.old, h.next = startHolder(t, h.pinned.Addr()), startHolder(t, rest)
	h.curatorOld, h.curatorNext = peers.CuratorFor(t, h.pinned.Addr(), headlineT), peers.CuratorFor(t, rest, headlineT)
	return h
}

func startHolder(t *testing.T, connect string) *worker.Worker {
	t.Helper()
	bin := worker.Build(t, "github.com/zkrecipes/zkrecipes/integration/lock/internal/holder")
	w := worker.Start(t, exec.Command(bin, "-connect", connect, "-timeout", headlineT.String(), "-tick", tick.String()))
	awaitLine(t, w, belief.Ready)
	return w
}

// awaitLine returns the next line of that event.
func awaitLine(t *testing.T, w *worker.Worker, event string) belief.Line {
	t.Helper()
	for ctx := bounded(t, startTimeout); ; {
		text, err := w.Receive(ctx)
		require.NoError(t, err, "waiting for %q: %s", event, w.Stderr())
		l, err := belief.Parse(text)
		require.NoError(t, err)
		if l.Event == event {
			return l
		}
	}
}

// round has both kinds of holders hold at the follower, and cuts it off.
func (h *headline) round(t *testing.T) {
	h.settle(t)
	h.rounds++
	mine, theirs := fmt.Sprintf("%s-%d", h.root, h.rounds), fmt.Sprintf("%s-%d-curator", h.root, h.rounds)
	name := fmt.Sprint("x", h.rounds)
	require.NoError(t, h.old.Send("lock "+name+" "+mine))
	awaitLine(t, h.old, belief.Granted)
	require.Equal(t, "held", h.curatorOld.Do(bounded(t, startTimeout), "lock "+name+" "+theirs).Event)
	require.NoError(t, h.next.Send("lock "+name+" "+mine))
	h.curatorNext.Tell("lock " + name + " " + theirs)
	h.awaitQueue(t, mine)
	h.awaitQueue(t, theirs)
	// Any time in the rhythm of pings and renewals.
	sleep(t.Context(), rand.N(headlineT/2))

	h.ens.Isolate(h.pinned)

	granted := awaitLine(t, h.next, belief.Granted).Interval.From
	end := awaitLine(t, h.old, belief.Over).Interval
	h.note(t, ours, max(end.To, end.Until)-granted)
	curatorGranted := h.curatorNext.Await(bounded(t, startTimeout), name).From
	for _, row := range []string{suspended, lost} {
		said := h.curatorOld.Await(bounded(t, startTimeout), "-")
		require.Equal(t, row[strings.LastIndex(row, " ")+1:], said.Text)
		h.note(t, row, said.From-curatorGranted)
	}
	require.NoError(t, h.ens.Heal())
	require.NoError(t, h.next.Send("release "+name))
	h.curatorNext.Do(bounded(t, startTimeout), "release "+name)
}

func (h *headline) note(t *testing.T, row string, after time.Duration) {
	t.Logf("%s: %v after the next grant", row, after)
	h.after[row] = append(h.after[row], after)
}

// settle waits until the one to be cut off follows.
func (h *headline) settle(t *testing.T) {
	ctx := bounded(t, startTimeout)
	for {
		mode, err := h.pinned.Mode(ctx)
		if mode == zkserver.Follower {
			return
		}
		if mode == zkserver.Leader {
			require.NoError(t, h.pinned.Restart(ctx))
		}
		require.NoError(t, cmp.Or(context.Cause(ctx), ctx.Err()), "%v: %v", mode, err)
		sleep(ctx, tick)
	}
}

func (h *headline) awaitQueue(t *testing.T, path string) {
	t.Helper()
	ctx := bounded(t, startTimeout)
	session, err := h.client.Session(ctx)
	require.NoError(t, err)
	for {
		names, _, err := session.Children(ctx, path)
		require.NoError(t, err)
		if len(names) == 2 {
			return
		}
		sleep(ctx, tick/10)
	}
}
