package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func lsCommand() command {
	return command{
		name:  "ls",
		args:  "[flags] [PATH]",
		short: "list the locks, elections, semaphores and double barriers below a path",
		long:  lsManual,
		setup: func(fs *flags) runner {
			l := &lister{env: fs.env, path: "/"}
			l.conn.register(fs)
			registerJSON(fs, &l.json)
			return func(ctx context.Context, args []string) error {
				if len(args) > 1 {
					return usagef("want zkr ls [flags] [PATH]")
				}
				if len(args) == 1 {
					l.path = args[0]
				}
				if err := recipes.CheckPath(l.path); err != nil {
					return usagef("%s", explain(err))
				}
				return withClient(ctx, &l.conn, l.run)
			}
		},
	}
}

const lsManual = `
Prints a line for each lock, reader/writer lock, election, semaphore and double
barrier at PATH and below that somebody holds or waits for: what it is, how many
hold and wait, the first holder with its token and age, and the path. The default
PATH is the root. What zkr queue says of names, kinds, ages and lag holds here too.

A simple barrier is a znode like any other, and locks at rest are empty directories:
neither is listed.

It only reads: one listing for each znode there is below PATH, and one contender
of each lock. Lines come as they are found, and no more is kept in memory than the
names in one directory and in those above it. What may not be read is told on
stderr, and the exit code is 70 then.
`

// lister is one run of zkr ls.
type lister struct {
	env    env
	conn   connection
	path   string
	json   bool
	client *recipes.Client
	denied int
}

const lsFormat = "%-14s  %5s  %5s  %-24s  %-12s  %-9s  %s\n"

func (l *lister) run(ctx context.Context, c *recipes.Client) error {
	l.client = c
	if !l.json {
		if _, err := fmt.Fprintf(l.env.stdout, lsFormat, "KIND", "HOLD", "WAIT", "HOLDER", "TOKEN", "AGE", "PATH"); err != nil {
			return err
		}
	}
	err := l.walk(ctx, l.path)
	if err == nil && l.denied > 0 {
		return fmt.Errorf("%d directories could not be read", l.denied)
	}
	return err
}

// walk looks at a znode and what is below it.
func (l *lister) walk(ctx context.Context, dir string) error {
	found, names, err := l.look(ctx, dir)
	switch {
	case errors.Is(err, recipes.ErrNoNode) && dir != l.path:
		return nil // gone since it was listed
	case errors.Is(err, recipes.ErrNoAuth):
		l.denied++
		fmt.Fprintf(l.env.stderr, "zkr: %s\n", explain(err))
		return nil
	case err != nil:
		return err
	case found != nil:
		return l.print(found)
	}
	slices.Sort(names)
	for _, name := range names {
		if dir == "/" && name == "zookeeper" {
			continue // ZooKeeper's own
		}
		if err := l.walk(ctx, below(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// look bounds each look, not the walk, which is as long as there is.
func (l *lister) look(ctx context.Context, dir string) (*site, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.conn.within)
	defer cancel()
	s, err := l.client.Session(ctx)
	if err != nil {
		return nil, nil, err
	}
	return (&inspector{client: l.client, most: 1}).look(ctx, s, dir)
}

// siteJSON is what --json says of a site.
type siteJSON struct {
	Path      string         `json:"path"`
	Kind      string         `json:"kind"`
	Holding   int            `json:"holding"`
	Waiting   int            `json:"waiting"`
	Strangers int            `json:"strangers"`
	First     *contenderJSON `json:"first,omitempty"`
}

func newSiteJSON(s *site, now time.Time) siteJSON {
	out := siteJSON{Path: s.path, Kind: s.kind, Holding: s.holding, Waiting: s.waiting, Strangers: len(s.strangers)}
	if len(s.places) > 0 {
		first := newContenderJSON(s.path, s.places[0], now)
		out.First = &first
	}
	return out
}

func (l *lister) print(s *site) error {
	now := time.Now()
	if l.json {
		return printJSON(l.env.stdout, newSiteJSON(s, now))
	}
	holder, token, old := "-", "-", "-"
	if len(s.places) > 0 && s.places[0].Holds {
		p := s.places[0]
		holder, token, old = shorten(who(p.Contender), 24), tokenText(p.Token), ageText(age(now, p.Created))
	}
	_, err := fmt.Fprintf(l.env.stdout, lsFormat, s.kind, fmt.Sprint(s.holding), fmt.Sprint(s.waiting), holder, token, old, plain(s.path))
	return err
}
