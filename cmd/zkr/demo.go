//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func demoCommand() command {
	return command{
		name:  "demo",
		args:  "[flags]",
		short: "show in 20 seconds what a lock can do, and what only a token can",
		long:  demoManual,
		setup: func(fs *flags) runner {
			d := &demo{env: fs.env}
			fs.StringVar(&d.servers, "connect", "", "the `SERVERS` of a real ensemble to show it on (default one inside this process)")
			fs.DurationVar(&d.timeout, "session-timeout", 4*time.Second, "lose a lock after this `DURATION` of silence; all takes longer with a longer one")
			return noArgs("demo", d.run)
		},
	}
}

const demoManual = `
Processes queue for a lock. The one that holds it is stopped, long enough to
lose the lock, and wakes up believing that it still holds it. What it then
writes is refused, by its fencing token. At last a leader is killed, and another
takes its place.

Nothing of it is played: the processes are processes, the signals SIGSTOP,
SIGCONT and SIGKILL, and the exit code says whether all of it has happened.
On a real ensemble, all is done below one path of the demo's own, which is
deleted in the end.
`

// demo is one run of the demo.
type demo struct {
	env     env
	servers string
	timeout time.Duration // asked for, then granted
	tick    time.Duration // of the servers, 0 where it is not known

	show   *show
	client *recipes.Client // the demo's own, beside those of its workers
	root   string          // below which everything happens
	guard  *guard          // of the workers
	hired  []*worker
	store  store
}

func (d *demo) run(ctx context.Context) (err error) {
	if least := 100 * time.Millisecond; d.timeout < least { // as the library says, which is not asked yet
		return usagef("--session-timeout %v: want at least %v", d.timeout, least)
	}
	ctx, stop := signal.NotifyContext(ctx, ending...)
	defer stop()
	d.show = newShow(d.env)
	d.show.title("zkr demo: what a lock can do, and what only a fencing token can")
	closeServer, err := d.serve()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServer()) }()
	if err := d.connect(ctx); err != nil {
		return err
	}
	defer d.client.Close()
	err = d.perform(ctx)
	if d.servers != "" {
		err = errors.Join(err, d.cleanUp(ctx))
	}
	if all := d.show.summary(); err == nil {
		err = all
	}
	return err
}

// serve starts a server unless there are some.
func (d *demo) serve() (closeServer func() error, err error) {
	if d.servers != "" {
		d.show.say("The servers are %s.", d.servers)
		return func() error { return nil }, nil
	}
	d.tick = d.timeout / 8
	srv, err := zktest.New(zktest.WithTick(d.tick))
	if err != nil {
		return nil, err
	}
	d.show.say("A ZooKeeper server runs inside this process, at %s. It keeps nothing.", srv.ConnectString())
	d.env.vars = append(d.env.vars, "ZKR_CONNECT="+srv.ConnectString())
	return srv.Close, nil
}

func (d *demo) connect(ctx context.Context) error {
	if d.servers != "" {
		d.env.vars = append(d.env.vars, "ZKR_CONNECT="+d.servers)
	}
	c := connection{servers: d.env.get("ZKR_CONNECT"), within: 30 * time.Second, timeout: d.timeout}
	var err error
	if d.client, err = c.dial(ctx); err != nil {
		return err
	}
	s, err := d.client.Session(ctx)
	if err != nil {
		return err
	}
	d.timeout = s.Timeout()
	d.root = "/zkr-demo-" + strings.ToLower(rand.Text()[:8])
	d.show.say("Whoever is silent for %v loses what it has locked.", d.timeout)
	return nil
}

// perform starts the workers' guard, lets the story happen, and ends what is
// left of the workers.
func (d *demo) perform(ctx context.Context) (err error) {
	if d.guard, err = startGuard(d.env); err != nil {
		return err
	}
	defer func() {
		d.guard.end()
		for _, w := range d.hired {
			_ = w.cmd.Wait() // killed, if it has not ended
		}
	}()
	if err := d.story(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return nil
}

// cleanUp deletes all that the demo has made. The workers are dead, but their
// sessions may last for a while.
func (d *demo) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*d.timeout)
	defer cancel()
	s, err := d.client.Session(ctx)
	if err == nil {
		err = deleteTree(ctx, s, d.root)
	}
	if err != nil {
		return fmt.Errorf("%s could not be deleted: %w", d.root, err)
	}
	d.show.say("%s is deleted again.", d.root)
	return nil
}

func deleteTree(ctx context.Context, s *recipes.Session, path string) error {
	names, _, err := s.Children(ctx, path)
	for _, name := range names {
		err = errors.Join(err, deleteTree(ctx, s, path+"/"+name))
	}
	if err == nil {
		err = s.Delete(ctx, path, -1)
	}
	if errors.Is(err, recipes.ErrNoNode) {
		return nil
	}
	return err
}
