package main

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

func watchCommand() command {
	return command{
		name:  "watch",
		args:  "[flags] PATH",
		short: "show live who holds a lock and who waits",
		long:  watchManual,
		setup: func(fs *flags) runner {
			w := &watcher{env: fs.env}
			w.conn.register(fs)
			registerJSON(fs, &w.json)
			return func(ctx context.Context, args []string) (err error) {
				if w.path, err = onePath(args, "zkr watch [flags] PATH"); err != nil {
					return err
				}
				return withClient(ctx, &w.conn, w.run)
			}
		},
	}
}

const watchManual = `
On a terminal it draws what zkr queue shows, again at each change and, for the ages,
each second. Otherwise, and with --json, it prints a line now and after each change
of who holds and how many wait. It ends by Ctrl-C or SIGTERM, with 128 plus the
number of the signal.

It reads after each change, ten times a second at most, so that what came and went
in between is left out, the newest never. It has two or three watches at the server.
While there is no connection it says so.
`

// paceOfWatch is the least time between two looks: a busy lock changes all the
// time, and nobody reads that fast.
const paceOfWatch = 100 * time.Millisecond

// watcher is one run of zkr watch.
type watcher struct {
	env    env
	conn   connection
	path   string
	json   bool
	client *recipes.Client
	ticks  <-chan time.Time
	show   view
}

// view shows what a watcher sees.
type view interface {
	site(*site) error // what there is after a look, nil for nothing
	outage() error    // there is no connection any more
	tick() error      // a second has passed
	end()
}

func (w *watcher) run(ctx context.Context, c *recipes.Client) error {
	w.client = c
	w.show = &lineView{out: w.env.stdout, path: w.path, json: w.json}
	if _, _, ok := screenSize(w.env.stdout); ok && !w.json && w.env.get("TERM") != "dumb" {
		w.show = newScreenView(w.env.stdout, w.path)
	}
	defer w.show.end()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	w.ticks = ticker.C
	for {
		if err := w.awaitConnection(ctx); err != nil {
			return err
		}
		pace := time.NewTimer(paceOfWatch)
		err := w.once(ctx)
		if err == nil {
			err = w.wait(ctx, wake{due: pace.C})
		}
		pace.Stop()
		if err != nil {
			return err
		}
	}
}

// awaitConnection returns when there is a connection.
func (w *watcher) awaitConnection(ctx context.Context) error {
	for told := false; ; told = true {
		state, changed := w.client.State()
		switch state {
		case recipes.Connected:
			return nil
		case recipes.Closed:
			return recipes.ErrClosed
		}
		if !told {
			if err := w.show.outage(); err != nil {
				return err
			}
		}
		if err := w.wait(ctx, wake{changed: changed}); err != nil {
			return err
		}
	}
}

// once shows what there is, and returns when there may be something else.
func (w *watcher) once(ctx context.Context) error {
	state, changed := w.client.State()
	if state != recipes.Connected {
		return nil
	}
	var eyes eyes
	defer eyes.close()
	found, err := w.look(ctx, &eyes)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, recipes.ErrNotConnected),
		errors.Is(err, recipes.ErrSessionExpired) && !errors.Is(err, recipes.ErrClosed):
		return nil // awaitConnection knows more
	case err != nil:
		return err
	}
	if err := w.show.site(found); err != nil {
		return err
	}
	return w.wait(ctx, wake{changed: changed, eyes: eyes})
}

// eyes are the watches of one look: for the directories, and the first contender.
type eyes [4]*recipes.Watch

func (e *eyes) add(w *recipes.Watch) {
	for i := range e {
		if e[i] == nil {
			e[i] = w
			return
		}
	}
	w.Stop()
}

func (e *eyes) close() {
	for _, w := range e {
		if w != nil {
			w.Stop()
		}
	}
}

// look sets the watches before it reads, so that no change is missed.
func (w *watcher) look(ctx context.Context, eyes *eyes) (*site, error) {
	ctx, cancel := context.WithTimeout(ctx, w.conn.timeout)
	defer cancel()
	s, err := w.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	_, _, dir, err := s.ChildrenWatch(ctx, w.path)
	if errors.Is(err, recipes.ErrNoNode) {
		_, _, dir, err = s.ExistsWatch(ctx, w.path)
	}
	if err != nil {
		return nil, err
	}
	eyes.add(dir)
	in := &inspector{client: w.client, most: 1}
	found, _, err := in.look(ctx, s, w.path)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil, nil // made or not by now, the watch tells
	}
	if err != nil || found == nil {
		return nil, err
	}
	if found.kind == kindSemaphore {
		for _, name := range []string{locksName, leasesName} {
			if _, _, part, err := s.ChildrenWatch(ctx, below(w.path, name)); err == nil {
				eyes.add(part)
			} else if !errors.Is(err, recipes.ErrNoNode) {
				return nil, err
			}
		}
	}
	if len(found.places) > 0 { // who may be asked to give it back, or proclaim something
		if _, _, first, err := s.GetWatch(ctx, found.places[0].Path); err == nil {
			eyes.add(first)
		} else if !errors.Is(err, recipes.ErrNoNode) {
			return nil, err
		}
	}
	in.most = maxWatched
	found, _, err = in.look(ctx, s, w.path)
	if errors.Is(err, recipes.ErrNoNode) {
		return nil, nil
	}
	return found, err
}

// maxWatched is how many contenders are read at each look.
const maxWatched = 100

// wake is what a wait is for; what is nil never comes.
type wake struct {
	changed <-chan struct{}
	due     <-chan time.Time
	eyes    eyes
}

// wait waits, and has ages drawn again meanwhile.
func (w *watcher) wait(ctx context.Context, on wake) error {
	var seen [len(on.eyes)]<-chan struct{}
	for i, eye := range on.eyes {
		if eye != nil {
			seen[i] = eye.C
		}
	}
	for {
		select {
		case <-on.changed:
			return nil
		case <-on.due:
			return nil
		case <-seen[0]:
			return nil
		case <-seen[1]:
			return nil
		case <-seen[2]:
			return nil
		case <-seen[3]:
			return nil
		case <-w.ticks:
			if err := w.show.tick(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
