//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/backoff"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func electCommand() command {
	return command{
		name:  "elect",
		args:  "[flags] PATH -- COMMAND [ARGUMENTS]",
		short: "run a command while leading",
		long:  electManual,
		setup: func(fs *flags) runner {
			c := &candidate{job: job{env: fs.env, variable: "ZKR_ELECTION_PATH"}}
			c.register(fs)
			return func(ctx context.Context, args []string) error {
				if err := c.settle(fs, args); err != nil {
					return err
				}
				return c.run(ctx)
			}
		},
	}
}

const electManual = `
Stands for election at PATH, in a fair queue, runs COMMAND when elected, stops it
when leadership ends, and stands for election again. At most one of all that do
so runs its command at any time: it is dead before anybody else can lead.

What the command gets:

    ZKR_FENCING_TOKEN  a number greater than that of every earlier leader: send
                       it along with each write, and have the place where the
                       data lives refuse a number below the greatest it has seen
    ZKR_ELECTION_PATH  the election's path

What ends zkr elect, besides what "zkr help" lists:

    the command fails while it leads     with its exit code; let whatever watches
                                         over zkr decide when it starts again
    SIGINT, SIGQUIT or SIGTERM           with the command, or at once where none
                                         runs; SIGHUP at once where none runs
    --once, and the first term is over   as zkr lock would have

A command that exits with 0 while it leads gives the others a turn; zkr stands
again, a second after the command was started at the soonest. "zkr leader" tells
who leads.

How the command is stopped, which signals it is passed, and what zkr cannot do
while itself or its machine is stopped is as for "zkr lock"; see zkr help lock.
`

// shortest is the least time between two starts of a command that exits with 0:
// one that has nothing to do is not to keep the servers busy.
const shortest = time.Second

// candidate is one run of zkr elect.
type candidate struct {
	job
	layout layoutFlag
	once   bool
}

func (c *candidate) register(fs *flags) {
	c.job.register(fs, "id", "give up after this `DURATION` of not being elected (default never)")
	c.layout.register(fs)
	fs.BoolVar(&c.once, "once", false, "end with the first term")
}

func (c *candidate) run(ctx context.Context) error {
	defer c.begin()()
	e, client, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		again, err := c.serve(ctx, client, e)
		if !again {
			return err
		}
	}
}

// enter connects.
func (c *candidate) enter(ctx context.Context) (*election.Election, *recipes.Client, error) {
	ctx, stop := untilSignal(ctx, c.caught)
	defer stop()
	client, err := c.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	opts := []election.Option{election.WithLayout(c.layout.layout)}
	if c.conn.identity != "" {
		opts = append(opts, election.WithID(c.conn.identity))
	}
	e, err := election.New(client, c.path, opts...)
	if err != nil {
		client.Close()
		return nil, nil, usagef("%s", explain(err))
	}
	return e, client, nil
}

// serve is one campaign and one term. again says that there is to be another one.
func (c *candidate) serve(ctx context.Context, client *recipes.Client, e *election.Election) (again bool, err error) {
	term, err := c.campaign(ctx, client, e)
	if err != nil {
		return false, err
	}
	c.say.say("elected: leading %s as %q, token %s", c.path, e.ID(), term.Token())
	began := time.Now()
	h := holding{job: &c.job, lease: term.Lease()}
	err = h.run(ctx)
	switch {
	case c.once || h.signaled:
		return false, err
	case isLoss(err):
		c.say.say("%s; standing for election again", explain(err))
		return true, nil
	case err == nil:
		err = pause(ctx, c.caught, shortest-time.Since(began))
	}
	return err == nil, err
}

// campaign waits until it is elected, and goes on after what passes.
func (c *candidate) campaign(ctx context.Context, client *recipes.Client, e *election.Election) (*election.Term, error) {
	ctx, stop := untilSignal(ctx, c.caught)
	defer stop()
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	defer c.sayOutages(client)()
	if leader, err := e.Leader(ctx); err == nil {
		c.say.say("%s is led by %v; waiting", c.path, leader)
	}
	var pause backoff.Backoff
	for {
		term, err := e.Campaign(ctx)
		switch {
		case err == nil:
			return term, nil
		case ctx.Err() != nil, election.Permanent(err):
			return nil, c.waitEnded(ctx, client, err, "not elected at "+c.path)
		}
		c.say.warn("campaign failed: %s; trying again", explain(err))
		pause.Wait(ctx) // the next campaign tells that it has ended
	}
}

// isLoss reports whether a command was stopped for the sake of the lease.
func isLoss(err error) bool {
	coded := (*codedError)(nil)
	return errors.As(err, &coded) && coded.code == exitLost
}

// pause waits for d, or a signal, of which it returns the error.
func pause(ctx context.Context, caught <-chan os.Signal, d time.Duration) error {
	ctx, stop := untilSignal(ctx, caught)
	defer stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx, ctx.Err())
	}
}
