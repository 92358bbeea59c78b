package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func breakCommand() command {
	return command{
		name:  "break",
		args:  "[flags] PATH --contender NAME",
		short: "delete one contender of a lock, after showing it and asking",
		long:  breakManual,
		setup: func(fs *flags) runner {
			b := &breaker{env: fs.env}
			b.conn.register(fs)
			fs.StringVar(&b.name, "contender", "", "the `NAME` of the contender, not its identity, as zkr queue shows it")
			fs.BoolVar(&b.yes, "yes", false, "do not ask")
			registerJSON(fs, &b.json)
			return func(ctx context.Context, args []string) (err error) {
				if b.path, err = onePath(args, "zkr break [flags] PATH --contender NAME"); err != nil {
					return err
				}
				if b.name == "" || strings.Contains(b.name, "/") {
					return usagef("--contender %q: want the NAME of a contender, not an identity, as zkr queue shows it", b.name)
				}
				if !b.yes && !isTerminal(b.env.stdin) {
					return usagef("there is no terminal to ask on: want --yes")
				}
				return withClient(ctx, &b.conn, b.run)
			}
		},
	}
}

const breakManual = `
Deletes the znode of one contender of the lock, reader/writer lock, semaphore,
election or double barrier at PATH: of one who waits, or of a holder, from whom
that takes the lock at once. It shows the contender and asks first. Where stdin is
no terminal it does nothing without --yes.

This is for a contender whose process cannot be stopped. The next one may hold
before the old one has noticed, and while that still writes only the fencing token
protects the data. To stop the process is better: its lease then ends in order.
zkr revoke asks politely.

Only that one znode is deleted: that of the same session, made by the same
transaction and not written since it was shown. Where it is another one by then it
says so and exits with 70. Where there is no such contender, or it goes while you
think, it exits with 79, and with 75 where the answer is no.
`

// breaker is one run of zkr break.
type breaker struct {
	env  env
	conn connection
	path string
	name string
	yes  bool
	json bool
}

func (b *breaker) run(ctx context.Context, c *recipes.Client) error {
	victim, stat, err := b.find(ctx, c)
	if err != nil {
		return err
	}
	if err := b.show(victim); err != nil {
		return err
	}
	if !b.yes {
		if err := b.ask(ctx); err != nil {
			return err
		}
	}
	if err := b.delete(ctx, c, victim.Path, stat); err != nil {
		return err
	}
	if b.json {
		return nil
	}
	_, err = fmt.Fprintln(b.env.stdout, "deleted")
	return err
}

// find returns the contender that the flag names. It is bounded, as what follows
// is, but not the one who thinks.
func (b *breaker) find(ctx context.Context, c *recipes.Client) (p queue.Place, stat recipes.Stat, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.conn.within)
	defer cancel()
	found, err := lookAt(ctx, &inspector{client: c, most: 2, want: b.means}, b.path)
	if err != nil {
		return p, stat, err
	}
	if found == nil || len(found.places) == 0 {
		return p, stat, b.gone()
	}
	if len(found.places) > 1 {
		return p, stat, fmt.Errorf("more than one contender of %s looks like %s", b.path, b.name)
	}
	p = found.places[0]
	s, err := c.Session(ctx)
	if err != nil {
		return p, stat, err
	}
	stat, ok, err := s.Exists(ctx, p.Path)
	if err == nil && (!ok || stat.EphemeralOwner != p.Session || !stat.Created.Equal(p.Created)) {
		err = b.gone() // and another one came in its name
	}
	return p, stat, err
}

// means reports whether the flag names this contender: as it is, or as zkr shows
// it.
func (b *breaker) means(name string) bool { return name == b.name || plain(name) == b.name }

func (b *breaker) gone() error {
	return &codedError{exitNoHolder, fmt.Errorf("%s has no contender %s", b.path, b.name)}
}

func (b *breaker) show(p queue.Place) error {
	now := time.Now()
	if b.json {
		return printJSON(b.env.stdout, newContenderJSON(b.path, p, now))
	}
	does := "waits for"
	if p.Holds {
		does = "holds"
	}
	owner := "session " + sessionID(p.Session)
	if p.Session == 0 {
		owner = "no session, so that nobody but you will ever delete it"
	}
	_, err := fmt.Fprintf(b.env.stdout, "%s\n%s %s %s, token %v, in the queue for %s; %s\n",
		plain(nameOf(p.Path)), who(p.Contender), does, plain(b.path), p.Token, ageText(age(now, p.Created)), owner)
	return err
}

// ask waits for the answer, or for a signal. Whoever reads a line that never comes
// ends with zkr.
func (b *breaker) ask(ctx context.Context) error {
	if _, err := fmt.Fprint(b.env.stderr, "Delete it? [y/N] "); err != nil {
		return err
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(io.LimitReader(b.env.stdin, 100)).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return &codedError{exitNotAcquired, errors.New("nothing was deleted")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// delete deletes the znode that was shown, and no other.
func (b *breaker) delete(ctx context.Context, c *recipes.Client, path string, shown recipes.Stat) error {
	ctx, cancel := context.WithTimeout(ctx, b.conn.within)
	defer cancel()
	for asked := false; ; asked = true {
		s, err := c.Session(ctx)
		if err != nil {
			return err
		}
		if asked { // what was asked before is settled by then
			if err := s.Barrier(ctx); err != nil && !goesOn(ctx, err) {
				return err
			}
		}
		stat, ok, err := s.Exists(ctx, path)
		switch {
		case err != nil && !goesOn(ctx, err):
			return err
		case err != nil:
			continue
		case !ok && asked:
			return nil
		case !ok:
			return b.gone()
		case stat.Czxid != shown.Czxid || stat.EphemeralOwner != shown.EphemeralOwner || stat.Version != shown.Version:
			return fmt.Errorf("%s has changed since it was shown; nothing was deleted", path)
		}
		if err = s.Delete(ctx, path, shown.Version); !goesOn(ctx, err) {
			return b.outcome(path, err)
		}
	}
}

// outcome says what an answer to the deletion means.
func (b *breaker) outcome(path string, err error) error {
	switch {
	case errors.Is(err, recipes.ErrNoNode):
		return b.gone()
	case errors.Is(err, recipes.ErrBadVersion):
		return fmt.Errorf("%s has changed since it was shown; nothing was deleted", path)
	}
	return err
}
