package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/history"
)

// More participants than a double barrier is for, some of them peers'.

// Who comes when a round is under way joins it, and nobody is let out before it
// has set out.
func TestParticipantThatComesLateJoinsARoundWithPeers(t *testing.T) {
	s := barrierServer(t)
	for _, late := range []string{"ours", "Curator", "kazoo"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			path := zkserver.Path(t)
			order := []participant{ourParticipant(t, dial(t, s.Addr()), path, 2)}
			join := func(p participant) { order = append(order, p) }
			switch late {
			case "ours":
				join(theirParticipant(t, peers.Curator(t, s.Addr()), "theirs", path, 2))
				join(ourParticipant(t, dial(t, s.Addr()), path, 2))
			case "Curator":
				join(theirParticipant(t, kazoo(t, s.Addr()), "theirs", path, 2))
				join(theirParticipant(t, peers.Curator(t, s.Addr()), "late", path, 2))
			default:
				join(ourParticipant(t, dial(t, s.Addr()), path, 2))
				join(theirParticipant(t, kazoo(t, s.Addr()), "late", path, 2))
			}
			passTogether(t, order[:2], participant.goIn)
			order[2].enter()() // nobody else comes
			time.Sleep(work)
			passTogether(t, order, participant.goOut)
		})
	}
}

// giveUp is how long one of ours waits in a crowd, in or out.
const giveUp = 500 * time.Millisecond

// crowd is more participants than the barrier is for, each of which goes in and
// out in a loop.
type crowd struct {
	t    *testing.T
	path string
	n    int
	done context.Context // ends when ours have gone round often enough

	mu    sync.Mutex
	stays []history.Stay
	vain  map[string]int // calls of ours that ended with their context
	most  time.Duration  // that one of those took
}

func (c *crowd) keep(s history.Stay) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Path, s.N = c.path, c.n
	c.stays = append(c.stays, s)
}

// ours makes one call under a context of its own. It returns false when its time
// was over.
func (c *crowd) ours(what string, call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(c.done, giveUp)
	defer cancel()
	begun := peers.Now()
	err := call(ctx)
	took := peers.Now() - begun
	if err == nil || c.done.Err() != nil {
		return err == nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("%s: %v", what, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vain[what]++
	c.most = max(c.most, took)
	return false
}

// goRound is a round of ours.
func (c *crowd) goRound(who string, d *barrier.Double) (through bool) {
	s := history.Stay{Who: who, Asked: peers.Now()}
	if c.ours("enter", d.Enter) {
		s.Entered = peers.Now()
		time.Sleep(time.Millisecond)
		s.Leaving = peers.Now()
		if through = c.ours("leave", d.Leave); through {
			s.Left = peers.Now()
		}
	}
	if !through {
		s.Died = peers.Now()
		s.Gone = s.Died + timeout
	}
	c.keep(s)
	return through
}

// theirRound is a round of a peer, which knows no end of its wait.
func (c *crowd) theirRound(who string, p *peers.Peer) (through bool) {
	s := history.Stay{Who: who, Asked: peers.Now()}
	in, err := c.answer(p, fmt.Sprintf("enter a %s %d", c.path, c.n))
	if err != nil {
		return false
	}
	s.Entered = in.From
	time.Sleep(time.Millisecond)
	s.Leaving = peers.Now()
	out, err := c.answer(p, "release a")
	if err == nil {
		s.Leaving, s.Left = out.From, out.To
	}
	c.keep(s)
	return err == nil
}

func (c *crowd) answer(p *peers.Peer, command string) (peers.Answer, error) {
	if err := p.Send(command); err != nil {
		return peers.Answer{}, err
	}
	a, err := p.Next(c.done)
	if err == nil && a.Event == "failed" {
		c.t.Errorf("%s: failed", command)
	}
	return a, err
}

// Whoever they are, ours go round and round. They may come to wait for each other,
// some on their way in and some on their way out: then a context of ours ends that.
// A kazoo that comes as a round ends may wait for ever; ours give up then each time.
func TestMoreThanSoManyWithPeersInALoop(t *testing.T) {
	s := barrierServer(t)
	report := proof.New(t, "barrier-more", "Three participants at a double barrier for two")
	rows := [][]string{{"participants", "rounds", "of these by ours", "waits of ours given up: in", "out"}}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, who := range [][]string{
			{"ours", "ours", "Curator"}, {"ours", "Curator", "Curator"},
			{"ours", "ours", "kazoo"}, {"ours", "kazoo", "kazoo"},
			{"ours", "Curator", "kazoo"},
		} {
			t.Run(strings.Join(who, ", "), func(t *testing.T) {
				t.Parallel()
				c := goRoundAndRound(t, s.Addr(), who, proof.Size(30, 200))
				mu.Lock()
				defer mu.Unlock()
				rows = append(rows, c.row(who))
			})
		}
	})
	report.Table(rows)
	report.Printf("One of ours gives up after %v and comes again. Nobody went in alone, and none of ours went out before somebody who was in.", giveUp)
}

func (c *crowd) row(who []string) []string {
	all, ours := 0, 0
	for _, s := range c.stays {
		if s.Left == 0 {
			continue
		}
		if all++; strings.HasPrefix(s.Who, "ours") {
			ours++
		}
	}
	return []string{
		strings.Join(who, ", "), fmt.Sprint(all), fmt.Sprint(ours),
		fmt.Sprint(c.vain["enter"]), fmt.Sprint(c.vain["leave"]),
	}
}

// goRoundAndRound has three go through a barrier for two, until each of ours has
// tried so many times.
func goRoundAndRound(t *testing.T, connect string, who []string, times int) *crowd {
	done, finish := context.WithCancel(within(t, proof.Size(patience, 10*patience)))
	c := &crowd{t: t, path: zkserver.Path(t), n: 2, done: done, vain: make(map[string]int)}
	var ours, theirs sync.WaitGroup
	var start []func() // of ours, which are faster
	for i, kind := range who {
		name := fmt.Sprintf("%s %d", kind, i)
		if kind == "ours" {
			d, err := barrier.NewDouble(dial(t, connect), c.path, c.n)
			require.NoError(t, err)
			start = append(start, func() {
				for range times {
					c.goRound(name, d)
				}
			})
			continue
		}
		peer := peers.Curator
		if kind == "kazoo" {
			peer = kazoo
		}
		p := peer(t, connect)
		theirs.Go(func() {
			for c.theirRound(name, p) {
			}
		})
	}
	for _, goAround := range start {
		ours.Go(goAround)
	}
	ours.Wait()
	require.NoError(t, done.Err(), "ours have not got round so often")
	finish()
	theirs.Wait()
	require.LessOrEqual(t, c.most, giveUp+10*time.Second, "on a busy machine")
	for _, v := range history.ThroughAlone(c.stays) {
		require.False(t, strings.HasPrefix(v.Text, "ours"), "%v", v)
	}
	return c
}
