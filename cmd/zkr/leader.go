package main

import (
	"context"
	"errors"
	"io"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func leaderCommand() command {
	return command{
		name:  "leader",
		args:  "[flags] PATH",
		short: "tell who leads",
		long:  leaderManual,
		setup: func(fs *flags) runner {
			a := &asker{env: fs.env}
			a.register(fs)
			return func(ctx context.Context, args []string) (err error) {
				if a.path, err = onePath(args, "zkr leader [flags] PATH"); err != nil {
					return err
				}
				return withClient(ctx, &a.conn, a.run)
			}
		},
	}
}

const leaderManual = `
Prints the id of the leader of the election at PATH, of zkr elect, of a program
that uses the library, of Curator or of kazoo, and exits with 0. Where there is
none it prints nothing and exits with 79.

With --watch it prints a line for the leader now and for each one that follows,
until it is interrupted; an empty line says that there is none. One that leads
again, or shows another id, has another line. A reader that is slow may miss some
of what came and went, never the newest.

The id is what the leader shows of itself, which may be anything: characters that
cannot be printed are replaced, so that it is one line and does nothing to a
terminal. A leader that shows nothing is told by the path of its znode.

It is the view of one server, which may lag behind, and the first in line is
shown before it knows. Whether to act as the leader, only the leader's own lease
says.
`

// asker is one run of zkr leader.
type asker struct {
	env    env
	conn   connection
	layout layoutFlag
	path   string
	watch  bool
}

func (a *asker) register(fs *flags) {
	a.conn.register(fs)
	a.layout.register(fs)
	fs.BoolVar(&a.watch, "watch", false, "print each change until interrupted")
}

func (a *asker) run(ctx context.Context, client *recipes.Client) error {
	e, err := election.New(client, a.path, election.WithLayout(a.layout.layout))
	if err != nil {
		return err
	}
	if a.watch {
		return a.tellChanges(ctx, e)
	}
	return a.tell(ctx, e)
}

// tell prints who leads. It takes a few requests, which servers that go silent in
// the middle of it are not to make last.
func (a *asker) tell(ctx context.Context, e *election.Election) error {
	ctx, cancel := context.WithTimeout(ctx, a.conn.within)
	defer cancel()
	leader, err := e.Leader(ctx)
	if errors.Is(err, election.ErrNoLeader) {
		return &codedError{exitNoLeader, err}
	}
	if err != nil {
		return err
	}
	return a.print(shown(leader))
}

func (a *asker) tellChanges(ctx context.Context, e *election.Election) error {
	for leader, err := range e.Observe(ctx) {
		if err != nil {
			return err
		}
		line := ""
		if leader != nil {
			line = shown(*leader)
		}
		if err := a.print(line); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (a *asker) print(line string) error {
	_, err := io.WriteString(a.env.stdout, line+"\n")
	return err
}

// shown is what to call a leader.
func shown(c recipes.Contender) string {
	if c.Identity == "" {
		return plain(c.Path)
	}
	return plain(c.Identity)
}
