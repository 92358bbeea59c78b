package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func queueCommand() command {
	return command{
		name:  "queue",
		args:  "[flags] PATH",
		short: "show who holds a lock, and who waits for whom",
		long:  queueManual,
		setup: func(fs *flags) runner {
			q := &queuer{env: fs.env}
			q.conn.register(fs)
			registerJSON(fs, &q.json)
			q.most = 1000
			fs.Var(&q.most, "limit", "show the first `COUNT` of them")
			return func(ctx context.Context, args []string) (err error) {
				if q.path, err = onePath(args, "zkr queue [flags] PATH"); err != nil {
					return err
				}
				return withClient(ctx, &q.conn, q.run)
			}
		},
	}
}

const queueManual = `
Shows the contenders of the lock, reader/writer lock, semaphore, election or double
barrier at PATH in their order: who holds, who waits and behind which number, what
each shows of itself, its token, its session and for how long it has been there,
a holder's wait included. Which of these it is is told by the names of the
contenders, those of Curator, kazoo and go-zookeeper included. Candidates of
Curator's LeaderSelector, and of kazoo's Election, are named as those of a mutex and
shown as such.

Somebody who waits has the token that it would be granted now. A "room" that the
first of a semaphore waits for is that of permits. Ages are by this machine's clock;
zkr doctor tells how far that is from the servers'.

It only reads, and shows what one server knows, which may lag behind. Names and
identities may be anything: what would do something to a terminal is shown as an
escape, such as \x1b, and what is long is cut; --json says all of it.

Where nobody holds or waits it says so and exits with 0, also where PATH does not
exist, as that of a lock at rest.
`

// queuer is one run of zkr queue.
type queuer struct {
	env  env
	conn connection
	path string
	json bool
	most countFlag
}

func (q *queuer) run(ctx context.Context, c *recipes.Client) error {
	ctx, cancel := context.WithTimeout(ctx, q.conn.within)
	defer cancel()
	found, err := lookAt(ctx, &inspector{client: c, most: int(q.most)}, q.path)
	if err != nil {
		return err
	}
	now := time.Now()
	if !q.json {
		if found == nil {
			_, err = fmt.Fprintf(q.env.stdout, "%s  nobody holds it, nobody waits\n", plain(q.path))
			return err
		}
		_, columns, _ := screenSize(q.env.stdout)
		return printQueue(q.env.stdout, found, now, columns, true)
	}
	if found == nil {
		return nil
	}
	for _, p := range found.places {
		if err := printJSON(q.env.stdout, newContenderJSON(q.path, p, now)); err != nil {
			return err
		}
	}
	return nil
}

// lookAt returns what stands at a path, nil where there is nothing.
func lookAt(ctx context.Context, in *inspector, path string) (*site, error) {
	s, err := in.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	found, _, err := in.look(ctx, s, path)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil, nil
	}
	return found, err
}

// countFlag is a flag that is a number of things.
type countFlag int

func (c *countFlag) String() string { return strconv.Itoa(int(*c)) }

func (c *countFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("want a number of at least 1")
	}
	*c = countFlag(n)
	return nil
}
