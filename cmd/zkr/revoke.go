package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func revokeCommand() command {
	return command{
		name:  "revoke",
		args:  "[flags] PATH",
		short: "ask the holder of a lock to give it back",
		long:  revokeManual,
		setup: func(fs *flags) runner {
			r := &revoker{env: fs.env}
			r.conn.register(fs)
			registerJSON(fs, &r.json)
			return func(ctx context.Context, args []string) (err error) {
				if r.path, err = onePath(args, "zkr revoke [flags] PATH"); err != nil {
					return err
				}
				return withClient(ctx, &r.conn, r.run)
			}
		},
	}
}

const revokeManual = `
Asks every holder of the lock, reader/writer lock or semaphore at PATH to give it
back, as Curator's Revoker does, and prints whom it has asked. It does not wait for
that: a holder learns of it within the round trip of a watch, and may ignore it.
zkr lock does, and so does every program that does not look at Lease.Revoked;
zkr watch shows what comes of it. What a holder shows of itself is overwritten by
that, so look at zkr queue first.

Where nobody holds it exits with 79. The leader of an election cannot be asked: its
id would be overwritten, which others go by. Stop it, or see zkr break.
`

// maxHolders is how many readers or permits are asked at once.
const maxHolders = 10000

// revoker is one run of zkr revoke.
type revoker struct {
	env  env
	conn connection
	path string
	json bool
}

func (r *revoker) run(ctx context.Context, c *recipes.Client) error {
	ctx, cancel := context.WithTimeout(ctx, r.conn.within)
	defer cancel()
	found, err := lookAt(ctx, &inspector{client: c, most: maxHolders}, r.path)
	if err != nil {
		return err
	}
	if found != nil && (found.kind == "election" || found.kind == kindBarrier) {
		return fmt.Errorf("%s (%s): nobody can be asked to give it back", r.path, found.kind)
	}
	asked := 0
	if found != nil {
		for _, p := range found.places {
			if !p.Holds {
				continue
			}
			ok, err := r.ask(ctx, c, p)
			if err != nil {
				return err
			}
			if ok {
				asked++
			}
		}
	}
	if asked == 0 {
		return &codedError{exitNoHolder, fmt.Errorf("nobody holds %s", r.path)}
	}
	return nil
}

// ask reports whether the contender was still there to be asked. To ask twice
// where an answer was lost does no harm: its name is of one attempt alone.
func (r *revoker) ask(ctx context.Context, c *recipes.Client, p queue.Place) (bool, error) {
	for {
		s, err := c.Session(ctx)
		if err != nil {
			return false, err
		}
		_, err = s.Set(ctx, p.Path, recipes.Revocation(), -1)
		switch {
		case errors.Is(err, recipes.ErrNoNode):
			return false, nil
		case goesOn(ctx, err):
			continue
		case err != nil:
			return false, err
		}
		return true, r.tell(p)
	}
}

// goesOn reports whether a write is to be tried again: its answer was lost, or its
// session, and there is time.
func goesOn(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, recipes.ErrOutcomeUnknown) || errors.Is(err, recipes.ErrSessionExpired)) &&
		!errors.Is(err, recipes.ErrClosed)
}

func (r *revoker) tell(p queue.Place) error {
	if r.json {
		return printJSON(r.env.stdout, newContenderJSON(r.path, p, time.Now()))
	}
	_, err := fmt.Fprintf(r.env.stdout, "asked %s, token %v, session %s, to give %s back\n", who(p.Contender), p.Token, sessionID(p.Session), plain(r.path))
	return err
}
