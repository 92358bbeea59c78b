package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/peers/internal/actor"
	"github.com/zkrecipes/zkrecipes/integration/worker"
)

// SessionTimeout is that of the peers' sessions.
const SessionTimeout = 10 * time.Second

// startTimeout bounds the start of a peer on a busy machine.
const startTimeout = time.Minute

// An Answer is what a peer says of a participant.
type Answer struct {
	Event    string
	Name     string
	Token    int64
	From, To time.Duration // CLOCK_MONOTONIC; To is 0 where there is none
	Text     string
}

// Now reads CLOCK_MONOTONIC, as peers do.
func Now() time.Duration { return actor.Now() }

// A Peer is a running process. It is for one goroutine.
type Peer struct {
	*worker.Worker
	Session int64

	t       testing.TB
	waiting []Answer // received, and not for the name that was awaited
}

func start(t testing.TB, cmd *exec.Cmd) *Peer {
	t.Helper()
	p := &Peer{Worker: worker.Start(t, cmd), t: t}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	p.Session = p.Await(ctx, "-").Token
	return p
}

// Do gives a command and returns the answer.
func (p *Peer) Do(ctx context.Context, command string) Answer {
	p.t.Helper()
	p.Tell(command)
	return p.Await(ctx, strings.Fields(command)[1])
}

// Tell gives a command.
func (p *Peer) Tell(command string) {
	p.t.Helper()
	if err := p.Send(command); err != nil {
		p.t.Fatalf("peers: %v", err)
	}
}

// Await returns the next answer of a participant. It fails the test if that is
// a failure.
func (p *Peer) Await(ctx context.Context, name string) Answer {
	p.t.Helper()
	return p.await(ctx, func(a Answer) bool { return a.Name == name })
}

// AwaitAny returns the next answer of whichever participant.
func (p *Peer) AwaitAny(ctx context.Context) Answer {
	p.t.Helper()
	return p.await(ctx, func(Answer) bool { return true })
}

func (p *Peer) await(ctx context.Context, wanted func(Answer) bool) Answer {
	p.t.Helper()
	for i, a := range p.waiting {
		if wanted(a) {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return a
		}
	}
	for {
		a := p.next(ctx)
		if wanted(a) {
			return a
		}
		p.waiting = append(p.waiting, a)
	}
}

func (p *Peer) next(ctx context.Context) Answer {
	p.t.Helper()
	a, err := p.Next(ctx)
	if err != nil {
		p.t.Fatalf("peers: %v", err)
	}
	if a.Event == "failed" {
		p.t.Fatalf("peers: %s failed:\n%s", a.Name, p.Stderr())
	}
	return a
}

// Next returns the next answer, also that of a failure, to a goroutine other than
// the test's, or where none may come.
func (p *Peer) Next(ctx context.Context) (Answer, error) {
	line, err := p.Receive(ctx)
	if err != nil {
		return Answer{}, err
	}
	return parse(line)
}

// Rest returns the answers of a peer that has ended.
func (p *Peer) Rest(ctx context.Context) []Answer {
	p.t.Helper()
	rest := p.waiting
	for {
		line, err := p.Receive(ctx)
		if errors.Is(err, io.EOF) {
			return rest
		}
		if err != nil {
			p.t.Fatalf("peers: %v", err)
		}
		if a, err := parse(line); err == nil { // the last line may be cut off
			rest = append(rest, a)
		}
	}
}

func parse(line string) (a Answer, err error) {
	if _, err := fmt.Sscan(line, &a.Event, &a.Name, &a.Token, &a.From, &a.To); err != nil {
		return a, fmt.Errorf("%q: %w", line, err)
	}
	if words := strings.SplitN(line, " ", 6); len(words) == 6 {
		a.Text = words[5]
	}
	return a, nil
}
