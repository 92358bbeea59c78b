// Command candidate stands in elections of this library in a process of its own,
// which a test can kill and freeze. It obeys the commands and gives the answers of
// package peers' elections:
//
//	lead NAME PATH LAYOUT
//	stand NAME PATH LAYOUT: lead, and again whenever leadership was lost
//	release NAME: resign, and stand no more
//	leader NAME PATH LAYOUT
//	participants NAME PATH LAYOUT
//	leads NAME CANDIDATE: whether that leads, true or false in TEXT
//
// An answer "lost" has the last instant at which the term was found to go on in
// TO, and in TEXT the latest instant that was promised up to then.
package main

import (
	"bufio"
	"context"
	"errors"
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
	p := &program{client: c, all: make(map[string]*candidacy)}
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
	client   *recipes.Client
	printing sync.Mutex
	all      map[string]*candidacy
}

// candidacy is that of one name.
type candidacy struct {
	*program
	name string
	e    *election.Election

	withdraw context.CancelFunc
	done     chan struct{} // closed when it stands no more
	ended    time.Duration // read before the place was given up
}

func (p *program) say(event, name string, token int64, from, to time.Duration, text ...string) {
	p.printing.Lock()
	defer p.printing.Unlock()
	fmt.Println(event, name, token, int64(from), int64(to), strings.Join(text, ","))
}

var layouts = map[string]election.Layout{
	"latch":    election.LeaderLatch,
	"selector": election.LeaderSelector,
	"kazoo":    election.Kazoo,
}

func (p *program) obey(ctx context.Context, words []string) error {
	name := words[1]
	switch words[0] {
	case "release":
		return p.release(name)
	case "leads":
		c := p.all[words[2]]
		p.say("leads", name, 0, now(), 0, strconv.FormatBool(c != nil && c.e.IsLeader()))
		return nil
	}
	e, err := election.New(p.client, words[2], election.WithLayout(layouts[words[3]]), election.WithID(name))
	if err != nil {
		return err
	}
	switch words[0] {
	case "lead", "stand":
		c := &candidacy{program: p, name: name, e: e, done: make(chan struct{})}
		ctx, c.withdraw = context.WithCancel(ctx)
		p.all[name] = c
		go c.run(ctx, words[0] == "stand")
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

// run stands for election until it has led, or again and again until ctx ends.
func (c *candidacy) run(ctx context.Context, again bool) {
	defer close(c.done)
	for {
		term, err := c.e.Campaign(ctx)
		if err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
				c.say("failed", c.name, 0, now(), 0)
			}
			c.ended = now()
			return
		}
		if !c.lead(ctx, term) || !again {
			return
		}
	}
}

// lead leads until ctx ends, or leadership does, in which case it returns true.
func (c *candidacy) lead(ctx context.Context, term *election.Term) (lost bool) {
	from := now()
	c.say("held", c.name, int64(term.Token()), from, 0)
	last, until, lost := believe(ctx, c.e, term, from)
	if lost {
		c.say("lost", c.name, int64(term.Token()), from, last, strconv.FormatInt(int64(until), 10))
	}
	c.ended = now()
	if err := term.Resign(context.Background()); err != nil && !errors.Is(err, recipes.ErrLost) {
		fmt.Fprintln(os.Stderr, err)
	}
	return lost
}

// believe looks at the term again and again, as a leader does between two steps of
// its work, until ctx ends or it is over. It returns the last instant at which it
// was not, and the latest that a look promised. Instants are taken before the
// look: what a paused process finds out after it is not older than that.
func believe(ctx context.Context, e *election.Election, term *election.Term, from time.Duration) (last, until time.Duration, lost bool) {
	last, until = from, from
	for {
		at := now()
		left := term.Lease().Remaining()
		if !e.IsLeader() || left <= 0 {
			return last, until, true
		}
		last, until = at, max(until, at+left)
		select {
		case <-ctx.Done():
			return last, until, false
		case <-time.After(time.Millisecond): // the work
		}
	}
}

// release withdraws a candidacy, whether it leads or not.
func (p *program) release(name string) error {
	c := p.all[name]
	if c == nil {
		return fmt.Errorf("candidate: %s stands in no election", name)
	}
	c.withdraw()
	<-c.done
	p.say("released", name, 0, c.ended, now())
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
