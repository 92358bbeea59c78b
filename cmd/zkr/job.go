package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// job is a command that is to run under a lease, and how: what zkr lock and zkr
// elect have in common.
type job struct {
	env       env
	say       *speaker
	conn      connection
	path      string
	argv      []string
	program   string // argv[0], found
	wait      time.Duration
	killAfter time.Duration
	strict    bool
	quiet     bool
	facts     []string // of the command's environment, besides the token
}

func (j *job) register(fs *flags) {
	j.conn.register(fs)
	fs.DurationVar(&j.killAfter, "kill-after", 0, "send the command SIGTERM this `DURATION` before the end of the lease, at most half\nof what is left of a lease when an outage begins (default a tenth of the session\ntimeout)")
	fs.BoolVar(&j.strict, "strict", false, "run the command only once the lease is proven; by default the first one rests,\nfor an eighth of the session timeout, on one committed write")
	fs.BoolVar(&j.quiet, "quiet", false, "say nothing but why the exit code is one of zkr's own")
}

// settle takes the arguments in and checks what needs no server.
func (j *job) settle(fs *flags, args []string) error {
	usage := "zkr " + fs.command.name + " [flags] PATH -- COMMAND"
	dashes := slices.Index(args, "--")
	switch {
	case len(args) == 0 || dashes == 0:
		return usagef("no path given: want %s", usage)
	case dashes < 0 && len(args) == 1:
		return usagef("no command given: want %s", usage)
	case dashes != 1:
		return usagef("the command comes after \"--\": want %s", usage)
	case len(args) == 2:
		return usagef("no command after \"--\": want %s", usage)
	}
	j.path, j.argv = args[0], args[2:]
	if err := recipes.CheckDir(j.path); err != nil {
		return usagef("%s", explain(err))
	}
	if fs.isSet("kill-after") && j.killAfter <= 0 {
		return usagef("--kill-after %v: want more than 0", j.killAfter)
	}
	if j.killAfter == 0 {
		j.killAfter = j.conn.timeout / 10
	}
	// Better now than after a night in the queue.
	var err error
	j.program, err = lookUp(j.argv[0])
	return err
}

// dial connects, and tells where the servers granted less than was asked for.
func (j *job) dial(ctx context.Context) (*recipes.Client, error) {
	opts := []recipes.Option{recipes.WithStopGrace(j.killAfter)}
	if j.strict {
		opts = append(opts, recipes.WithStrictGrant())
	}
	client, err := j.conn.dial(ctx, opts...)
	if err != nil {
		return nil, ended(ctx, err)
	}
	s, err := client.Session(ctx)
	if err == nil && s.Timeout() < j.conn.timeout {
		j.say.say("the servers grant a session timeout of %v, not %v; --kill-after shrinks with it where it must", s.Timeout(), j.conn.timeout)
	}
	return client, nil
}

// sayOutages tells when the connection goes and comes back while zkr stands in a
// queue, until stop is called. A wait that nothing is heard of looks like a lock
// that is held for long.
func (j *job) sayOutages(client *recipes.Client) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for before := recipes.Connected; ; {
			now, changed := client.State()
			switch {
			case now == recipes.Closed:
				return
			case now == recipes.Connected && before != now:
				j.say.say("connected again; still waiting")
			case now != recipes.Connected && before == recipes.Connected:
				j.say.say("no connection to the servers; still waiting")
			}
			before = now
			select {
			case <-changed:
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

var errWaitOver = errors.New("--wait is over")

// bounded is ctx bounded by --wait.
func (j *job) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, j.wait, errWaitOver)
}

// ended returns why something ended early that ctx bounds: by a signal, or else
// as err says.
func ended(ctx context.Context, err error) error {
	if end := (*exited)(nil); errors.As(context.Cause(ctx), &end) {
		return end
	}
	return err
}

// waitEnded does so for the wait in the queue, which --wait bounds too. failed
// says what has not come about.
func (j *job) waitEnded(ctx context.Context, err error, failed string) error {
	if errors.Is(context.Cause(ctx), errWaitOver) {
		return &codedError{exitNotAcquired, fmt.Errorf("%s within %v%s", failed, j.wait, behind(err))}
	}
	return ended(ctx, err)
}

// behind says whom a wait was for when it ended.
func behind(err error) string {
	w := (*recipes.WaitError)(nil)
	if !errors.As(err, &w) || w.Behind == "" {
		return ""
	}
	if w.Holder.Path == "" { // it went as we looked
		return fmt.Sprintf(": at position %d", w.Position)
	}
	return fmt.Sprintf(": at position %d, held by %v", w.Position, w.Holder)
}

// vars is the environment of the command.
func (j *job) vars(lease *recipes.Lease) []string {
	return append(append(slices.Clip(j.env.vars), "ZKR_FENCING_TOKEN="+lease.Token().String()), j.facts...)
}
