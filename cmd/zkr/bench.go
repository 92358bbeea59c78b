package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func benchCommand() command {
	return command{
		name:  "bench",
		args:  "[flags]",
		short: "measure how fast locks are on an ensemble",
		long:  benchManual,
		setup: func(fs *flags) runner {
			b := &bencher{env: fs.env, rounds: 200}
			b.conn.register(fs)
			registerJSON(fs, &b.json)
			fs.Var(&b.rounds, "rounds", "measure everything `COUNT` times, 10000 at most")
			fs.DurationVar(&b.most, "for", 30*time.Second, "stop after this `DURATION`, with what has been measured by then")
			fs.StringVar(&b.under, "under", "/", "write below this `PATH`, which has to exist")
			return noArgs("bench", func(ctx context.Context) error {
				if err := b.check(); err != nil {
					return err
				}
				return withClient(ctx, &b.conn, b.run)
			})
		},
	}
}

const benchManual = `
Measures, one request at a time:

    write      a change of 100 bytes
    floor      create and delete of an ephemeral znode, the least that a lock costs
    lock       acquire and release of a lock that nobody else wants, on the same
               connection and in turns with the floor, also as a multiple of it
    hand-over  from the call that releases a lock until it has been acquired by the
               one that waits for it, in another session

It says before it starts where it writes and how much at most. All that it makes lies
in a directory of its own, zkr-bench- and a random name, that it deletes at the end, also
when it is interrupted; where it is killed, its znodes go with its two sessions and
the directory, a container, with them. Nothing else is written.

It is no load test: two sessions, and never more than one write under way. It stops by
itself where a write takes more than a tenth of the session timeout, for such an
ensemble has no room for it.

Half of all rounds took at most p50, 95 of 100 p95, and so on. What it says holds for
this machine, its way to the servers and their load now.
`

// bencher is one run of zkr bench.
type bencher struct {
	env    env
	conn   connection
	json   bool
	rounds countFlag
	most   time.Duration
	under  string
}

// mostRounds keeps a slip of the finger from becoming a load test.
const mostRounds = 10000

func (b *bencher) check() error {
	switch {
	case b.rounds > mostRounds:
		return usagef("--rounds %d: want %d at most", b.rounds, mostRounds)
	case b.most <= 0:
		return usagef("--for %v: want more than 0", b.most)
	case b.under != "/":
		if err := recipes.CheckDir(b.under); err != nil {
			return usagef("--under: %s", explain(err))
		}
	}
	return nil
}

// writesOfARound are one of write, two each of floor and lock, and four of
// hand-over, in which two come and go.
const writesOfARound = 9

func (b *bencher) run(ctx context.Context, c *recipes.Client) (err error) {
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	root := below(b.under, "zkr-bench-"+strings.ToLower(rand.Text()[:8]))
	fmt.Fprintf(b.env.stderr, "zkr: bench: about %d small writes, one at a time, in %s, which is deleted at the end; %v at most\n",
		writesOfARound*int(b.rounds), plain(root), b.most)
	// First, since a creation that was not answered may have happened all the same.
	defer func() { err = errors.Join(err, b.cleanUp(ctx, c, root)) }()
	if err := b.makeRoot(ctx, s, root); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, b.most)
	defer cancel()
	cases, err := b.measure(bounded, c, root)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	return b.report(cases)
}

// makeRoot makes a directory that goes by itself where zkr cannot delete it. An
// interrupt waits for the answer, so that what is deleted then is not made after.
func (b *bencher) makeRoot(ctx context.Context, s *recipes.Session, root string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.conn.within)
	defer cancel()
	_, err := s.Create(ctx, root, nil, recipes.Container, nil)
	if err == nil || errors.Is(err, recipes.ErrNoAuth) || errors.Is(err, recipes.ErrNoNode) || ctx.Err() != nil {
		return err
	}
	// A server that knows no containers.
	_, err = s.Create(ctx, root, nil, recipes.Persistent, nil)
	return err
}

func (b *bencher) cleanUp(ctx context.Context, c *recipes.Client, root string) error {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.conn.within)
	defer cancel()
	s, err := c.Session(ctx)
	if err == nil {
		err = deleteTree(ctx, s, root)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s could not be deleted; servers that know containers (3.5.3 and later) delete it once it is empty: %w", root, err)
	if interrupted { // of which nothing else is said
		fmt.Fprintf(b.env.stderr, "zkr: bench: %s\n", explain(err))
	}
	return err
}
