//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// job is a command that is to run under a lease, and how: what zkr lock and zkr
// elect have in common.
type job struct {
	env       env
	say       *speaker
	caught    <-chan os.Signal
	conn      connection
	variable  string // of the command's environment, that holds the path
	path      string
	argv      []string
	program   string // argv[0], found
	wait      time.Duration
	killAfter time.Duration
	strict    bool
	quiet     bool
}

// register registers the flags; name is that of the one for the identity, wait is
// what to say of --wait.
func (j *job) register(fs *flags, name, wait string) {
	j.conn.register(fs)
	j.conn.registerIdentity(fs, name)
	fs.DurationVar(&j.wait, "wait", 0, wait)
	fs.DurationVar(&j.killAfter, "kill-after", 0, "send the command SIGTERM this `DURATION` before the end of the lease, at most half\nof what is left of a lease when an outage begins (default a tenth of the session\ntimeout)")
	fs.BoolVar(&j.strict, "strict", false, "run the command only once the lease is proven; by default the first one rests,\nfor an eighth of the session timeout, on one committed write")
	fs.BoolVar(&j.quiet, "quiet", false, "say nothing but why the exit code is one of zkr's own, and that no server was\nreached for the session timeout")
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
	for name, d := range map[string]time.Duration{"kill-after": j.killAfter, "wait": j.wait} {
		if fs.isSet(name) && d <= 0 {
			return usagef("--%s %v: want more than 0", name, d)
		}
	}
	if j.killAfter == 0 {
		j.killAfter = j.conn.timeout / 10
	}
	// Better now than after a night in the queue.
	var err error
	j.program, err = lookUp(j.argv[0])
	return err
}

// forwarded are the signals that are meant for the command that zkr runs.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT, syscall.SIGWINCH,
}

// survived are signals that would end or stop zkr while it must watch over a
// command: a stopped zkr lets it run on past the lease, and the end of whoever
// reads stderr is no reason to kill it.
var survived = []os.Signal{syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// begin makes the job heed signals and speak, until end is called, which is to be
// when the lease was given back.
func (j *job) begin() (end func()) {
	j.say = newSpeaker(j.env.stderr, j.quiet)
	caught, stop := catch(forwarded)
	j.caught = caught
	// Nobody is to die of a closed stderr, at no time.
	_, stopPipe := catch(survived[:1])
	return func() {
		stopPipe()
		stop()
		j.say.close()
	}
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
		j.followOutages(client, quit)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// followOutages says of a blink what may be missed; an outage that lasts is told
// also where zkr is to be quiet.
func (j *job) followOutages(client *recipes.Client, quit <-chan struct{}) {
	lasts := time.NewTimer(time.Hour)
	defer lasts.Stop()
	lasts.Stop() // while there is a connection
	before, tell := recipes.Connected, j.say.say
	for {
		now, changed := client.State()
		switch {
		case now == recipes.Closed:
			return
		case now == recipes.Connected && before != now:
			lasts.Stop()
			tell("connected again; still waiting")
			tell = j.say.say
		case now != recipes.Connected && before == recipes.Connected:
			tell("no connection to the servers; still waiting")
			lasts.Reset(j.conn.timeout)
		}
		before = now
		select {
		case <-changed:
		case <-lasts.C:
			tell = j.say.warn
			tell("no connection to the servers for %v; still waiting", j.conn.timeout)
		case <-quit:
			return
		}
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

// waitEnded does so for the wait in the queue, which --wait bounds too. failed
// says what has not come about.
func (j *job) waitEnded(ctx context.Context, client *recipes.Client, err error, failed string) error {
	if !errors.Is(context.Cause(ctx), errWaitOver) {
		return ended(ctx, err)
	}
	outage := ""
	if state, _ := client.State(); state != recipes.Connected {
		outage = "; there is no connection to the servers " + j.conn.servers
	}
	return &codedError{exitNotAcquired, fmt.Errorf("%s within %v%s%s", failed, j.wait, behind(err), outage)}
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
	return append(slices.Clip(j.env.vars), "ZKR_FENCING_TOKEN="+lease.Token().String(), j.variable+"="+j.path)
}
