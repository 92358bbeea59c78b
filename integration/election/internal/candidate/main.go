// Command candidate stands in elections of this library in a process of its own,
// which a test can kill and freeze. It obeys the commands and gives the answers of
// package peers' elections:
//
//	lead NAME PATH LAYOUT
//	release NAME
//	leader NAME PATH LAYOUT
//	participants NAME PATH LAYOUT
//
// An answer "over" has the last instant at which the term was found to go on in
// TO, and in TEXT the latest instant that was promised up to then.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func main() {
	connect := flag.String("connect", "", "servers")
	timeout := flag.Duration("timeout", 10*time.Second, "session timeout")
	tick := flag.Duration("tick", 500*time.Millisecond, "the servers' tick")
	flag.Parse()
	if err := run(*connect, recipes.WithSessionTimeout(*timeout), recipes.WithTickTime(*tick)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(connect string, opts ...recipes.Option) error {
	ctx := context.Background()
	// kazoo does not make the directory again where a container has gone.
	c, err := recipes.Dial(ctx, connect, append(opts, recipes.WithPersistentParents())...)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	p := &program{client: c, terms: make(map[string]*election.Term)}
	p.say("ready", "-", s.ID(), now(), 0)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		// What waits for others is left to the end of the process.
		if err := p.obey(ctx, strings.Fields(lines.Text())); err != nil {
			return err
		}
	}
	return nil
}

type program struct {
	client *recipes.Client

	mu    sync.Mutex // guards terms and the output
	terms map[string]*election.Term
}

func (p *program) say(event, name string, token int64, from, to time.Duration, text ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Println(event, name, token, int64(from), int64(to), strings.Join(text, ","))
}

var layouts = map[string]election.Layout{
	"latch":    election.LeaderLatch,
	"selector": election.LeaderSelector,
	"kazoo":    election.Kazoo,
}

func (p *program) obey(ctx context.Context, words []string) error {
	name := words[1]
	if words[0] == "release" {
		return p.release(ctx, name)
	}
	e, err := election.New(p.client, words[2], election.WithLayout(layouts[words[3]]), election.WithID(name))
	if err != nil {
		return err
	}
	switch words[0] {
	case "lead":
		go p.lead(ctx, name, e)
	case "leader":
		leader, err := e.Leader(ctx)
		if err != nil {
			return err
		}
		p.say("leader", name, 0, now(), 0, leader.Identity)
	case "participants":
		all, err := e.Candidates(ctx)
		if err != nil {
			return err
		}
		var ids []string
		for _, c := range all {
			ids = append(ids, c.Identity)
		}
		p.say("participants", name, 0, now(), 0, ids...)
	default:
		return fmt.Errorf("candidate: unknown command %q", words)
	}
	return nil
}

// lead leads once.
func (p *program) lead(ctx context.Context, name string, e *election.Election) {
	term, err := e.Campaign(ctx)
	from := now()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		p.say("failed", name, 0, from, 0)
		return
	}
	p.mu.Lock()
	p.terms[name] = term
	p.mu.Unlock()
	p.say("held", name, int64(term.Token()), from, 0)
	last, until := believe(e, term, from)
	p.say("over", name, int64(term.Token()), from, last, strconv.FormatInt(int64(until), 10))
}

// believe looks at the term again and again, as a leader does between two steps of
// its work, until it is over. It returns the last instant at which it was not, and
// the latest that a look promised. Instants are taken before the look: what a
// paused process finds out after it is not older than that.
func believe(e *election.Election, term *election.Term, from time.Duration) (last, until time.Duration) {
	last, until = from, from
	for {
		at := now()
		left := term.Lease().Remaining()
		if !e.IsLeader() || left <= 0 {
			return last, until
		}
		last, until = at, max(until, at+left)
		time.Sleep(time.Millisecond) // the work
	}
}

func (p *program) release(ctx context.Context, name string) error {
	p.mu.Lock()
	term := p.terms[name]
	p.mu.Unlock()
	before := now()
	if err := term.Resign(ctx); err != nil {
		return err
	}
	p.say("released", name, 0, before, now())
	return nil
}

// now reads CLOCK_MONOTONIC, the same for every process of the machine.
func now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("candidate: clock_gettime: %v", err))
	}
	return time.Duration(ts.Nano())
}
