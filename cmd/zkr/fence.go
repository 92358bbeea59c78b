package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func fenceCommand() command {
	return command{
		name:  "fence",
		args:  "show|raise [flags] PATH...",
		short: "see and raise the base of fencing tokens, after an ensemble was restored",
		long:  fenceManual,
		setup: func(fs *flags) runner {
			f := &fencer{env: fs.env}
			f.register(fs)
			return func(ctx context.Context, args []string) error {
				if err := f.settle(args); err != nil {
					return err
				}
				return withClient(ctx, &f.conn, f.run)
			}
		},
	}
}

const fenceManual = `
Fencing tokens are transaction numbers of the ensemble. One that was wiped, or
restored from an older state, begins with lower ones, and the resources, which
remember the greater ones, refuse every holder. The base is a number that is
added to the tokens of one lock or election; it is kept in a znode beside PATH,
PATH.fence, which is not to be deleted.

    zkr fence show --standing N PATH...

prints, for each PATH, its base, and a token that every grant from now on exceeds.
With --standing it exits with 81 where N, which stands at a resource, is above
that: nobody gets past it.

    zkr fence raise --at-least N PATH...

raises the base to N, unless it is as high already, and prints what it is and was.
It is never lowered. N has to be above every token that was given before: take the
greatest that stands at any resource of that lock, or better the last transaction
number of the lost ensemble, if its logs still tell it.

Stop those who may still hold a lease of the lost ensemble first. Clients that run
learn of a base within a session timeout, and are refused until then.
`

// exitAhead says that a resource is ahead of the ensemble.
const exitAhead = 81

// fencer is one run of zkr fence.
type fencer struct {
	env      env
	conn     connection
	standing tokenFlag
	atLeast  tokenFlag
	do       func(ctx context.Context, c *recipes.Client, path string) error
	paths    []string
}

func (f *fencer) register(fs *flags) {
	f.conn.register(fs)
	fs.Var(&f.standing, "standing", "show: the `TOKEN` that stands at a resource")
	fs.Var(&f.atLeast, "at-least", "raise: the `TOKEN` that all from now on are to exceed")
}

func (f *fencer) settle(args []string) error {
	if len(args) < 2 {
		return usagef("want zkr fence show|raise [flags] PATH...")
	}
	switch verb := args[0]; {
	case verb == "show" && f.atLeast == 0:
		f.do = f.show
	case verb == "raise" && f.atLeast > 0 && f.standing == 0:
		f.do = f.raise
	case verb == "show":
		return usagef("fence show takes no --at-least; fence raise does")
	case verb == "raise":
		return usagef("fence raise wants --at-least TOKEN, and no --standing")
	default:
		return usagef("unknown fence command %q: want show or raise", verb)
	}
	f.paths = args[1:]
	for _, path := range f.paths {
		if err := recipes.CheckDir(path); err != nil {
			return usagef("%s", explain(err))
		}
	}
	return nil
}

func (f *fencer) run(ctx context.Context, client *recipes.Client) error {
	var errs []error
	for _, path := range f.paths {
		errs = append(errs, f.each(ctx, client, path))
	}
	return errors.Join(errs...)
}

// each does it for one path. It takes a few requests, which servers that go
// silent in the middle of it are not to make last.
func (f *fencer) each(ctx context.Context, c *recipes.Client, path string) error {
	ctx, cancel := context.WithTimeout(ctx, f.conn.within)
	defer cancel()
	return f.do(ctx, c, path)
}

func (f *fencer) show(ctx context.Context, c *recipes.Client, path string) error {
	now, err := c.TokenNow(ctx, path)
	if err != nil {
		return err
	}
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	base, err := s.FenceBase(ctx, path)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f.env.stdout, "%s base %v token %v\n", path, base, now); err != nil {
		return err
	}
	if now < fence.Token(f.standing) {
		return &codedError{exitAhead, fmt.Errorf("%s: %s", path, ahead(fence.Token(f.standing), now))}
	}
	return nil
}

func (f *fencer) raise(ctx context.Context, c *recipes.Client, path string) error {
	before, after, err := c.RaiseFenceBase(ctx, path, fence.Token(f.atLeast))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.env.stdout, "%s base %v was %v\n", path, after, before)
	return err
}

// tokenFlag is a flag that is a token; 0 where it was not given.
type tokenFlag fence.Token

func (t *tokenFlag) String() string {
	if *t == 0 {
		return ""
	}
	return fence.Token(*t).String()
}

func (t *tokenFlag) Set(s string) error {
	token, err := fence.ParseToken(s)
	if err != nil {
		return errors.New("want a positive decimal number")
	}
	*t = tokenFlag(token)
	return nil
}
