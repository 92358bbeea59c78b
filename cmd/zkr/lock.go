package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func lockCommand() command {
	return command{
		name:  "lock",
		args:  "[flags] PATH -- COMMAND [ARGUMENTS]",
		short: "run a command while holding a lock",
		long:  lockManual,
		setup: func(fs *flags) runner {
			l := &locker{env: fs.env}
			l.register(fs)
			return func(ctx context.Context, args []string) error {
				if err := l.settle(fs, args); err != nil {
					return err
				}
				return l.run(ctx)
			}
		},
	}
}

const lockManual = `
Waits in a fair queue for the lock at PATH, runs COMMAND, gives the lock back
and exits with COMMAND's exit code ("zkr help" lists zkr's own). The command has
stdin, stdout and stderr to itself; zkr says on stderr alone who holds the lock
and how many stand before it. No terminal and no environment are needed:

    * * * * *  zkr lock --try --quiet --connect zk1:2181,zk2:2181 /locks/report -- /opt/report

What the command gets:

    ZKR_FENCING_TOKEN  a number greater than that of every earlier holder: send
                       it along with each write, and have the place where the
                       data lives refuse a number below the greatest it has seen
    ZKR_LOCK_PATH      the lock's path

When the servers cannot be reached in time to keep the lock, the command is
stopped before anybody else can get it: --kill-after before the end of the lease
its process group gets SIGTERM, and shortly before that end SIGKILL. Where the
lock is gone without a warning, since the server ended the session or somebody
deleted the znode, SIGKILL comes at once. Processes that the command has left
behind when it ends are killed before the lock is given back, and all of them
are when zkr itself is killed; only one in a process group of its own (setsid,
a daemon) or of another user (sudo) escapes.

What this cannot do: while zkr itself is stopped, or the whole machine is, nobody
watches over the command, and it may run on past the lease. Then only the token
protects the data.

SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT and SIGWINCH are
passed on to the command's process group; the first four end zkr while it waits.
`

// locker is one run of zkr lock.
type locker struct {
	env       env
	say       *speaker
	conn      connection
	path      string
	argv      []string
	program   string // argv[0], found
	wait      time.Duration
	killAfter time.Duration
	try       bool
	strict    bool
	quiet     bool
}

func (l *locker) register(fs *flags) {
	l.conn.register(fs)
	fs.DurationVar(&l.wait, "wait", 0, "wait for the lock for this `DURATION` at most (default for ever)")
	fs.BoolVar(&l.try, "try", false, "do not wait: take the lock if it is free")
	fs.DurationVar(&l.killAfter, "kill-after", 0, "send the command SIGTERM this `DURATION` before the end of the lease, at most half\nof what is left of a lease when an outage begins (default a tenth of the session\ntimeout)")
	fs.BoolVar(&l.strict, "strict", false, "run the command only once the lease is proven; by default the first one rests,\nfor an eighth of the session timeout, on one committed write")
	fs.BoolVar(&l.quiet, "quiet", false, "say nothing but why the exit code is one of zkr's own")
}

// settle takes the arguments in and checks what needs no server.
func (l *locker) settle(fs *flags, args []string) error {
	dashes := slices.Index(args, "--")
	switch {
	case len(args) == 0 || dashes == 0:
		return usagef("no path given: want %s", lockUsage)
	case dashes < 0 && len(args) == 1:
		return usagef("no command given: want %s", lockUsage)
	case dashes != 1:
		return usagef("the command comes after \"--\": want %s", lockUsage)
	case len(args) == 2:
		return usagef("no command after \"--\": want %s", lockUsage)
	}
	l.path, l.argv = args[0], args[2:]
	if err := recipes.CheckDir(l.path); err != nil {
		return usagef("%s", explain(err))
	}
	switch {
	case l.try && fs.isSet("wait"):
		return usagef("--try and --wait contradict each other")
	case fs.isSet("wait") && l.wait <= 0:
		return usagef("--wait %v: want more than 0, or --try", l.wait)
	case fs.isSet("kill-after") && l.killAfter <= 0:
		return usagef("--kill-after %v: want more than 0", l.killAfter)
	}
	if l.killAfter == 0 {
		l.killAfter = l.conn.timeout / 10
	}
	// Better now than after a night in the queue.
	var err error
	l.program, err = lookUp(l.argv[0])
	return err
}

const lockUsage = "zkr lock [flags] PATH -- COMMAND"

func (l *locker) run(ctx context.Context) error {
	l.say = newSpeaker(l.env.stderr, l.quiet)
	defer l.say.close() // after the lock was given back
	caught, stop := catch(forwarded)
	defer stop()
	// Nobody is to die of a closed stderr, at no time.
	_, stopPipe := catch(survived[:1])
	defer stopPipe()

	waiting, stopWaiting := untilSignal(ctx, caught)
	client, lease, err := l.acquire(waiting)
	stopWaiting()
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	h := holding{locker: l, lease: lease, caught: caught}
	return h.run(ctx)
}

// acquire connects and gets the lock.
func (l *locker) acquire(ctx context.Context) (*recipes.Client, *recipes.Lease, error) {
	if l.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.wait, errWaitOver)
		defer cancel()
	}
	opts := []recipes.Option{recipes.WithStopGrace(l.killAfter)}
	if l.strict {
		opts = append(opts, recipes.WithStrictGrant())
	}
	client, err := l.conn.dial(ctx, opts...)
	if err != nil {
		return nil, nil, l.notAcquired(ctx, err, false)
	}
	l.sayGranted(ctx, client)
	mu, err := lock.NewMutex(client, l.path, lock.WithOnWait(l.sayWait))
	if err != nil {
		return client, nil, err
	}
	lease, err := l.take(ctx, mu)
	if err != nil {
		return client, nil, l.notAcquired(ctx, err, true)
	}
	return client, lease, nil
}

// sayGranted tells where the servers granted less than was asked for.
func (l *locker) sayGranted(ctx context.Context, client *recipes.Client) {
	s, err := client.Session(ctx)
	if err == nil && s.Timeout() < l.conn.timeout {
		l.say.say("the servers grant a session timeout of %v, not %v; --kill-after shrinks with it where it must", s.Timeout(), l.conn.timeout)
	}
}

func (l *locker) take(ctx context.Context, mu *lock.Mutex) (*recipes.Lease, error) {
	if !l.try {
		return mu.Lock(ctx)
	}
	// A trial is a few requests. Without a bound, servers that go silent in the
	// middle of it would make it last.
	ctx, cancel := context.WithTimeout(ctx, l.conn.within)
	defer cancel()
	lease, err := mu.TryLock(ctx)
	if errors.Is(err, lock.ErrLocked) {
		return nil, &codedError{exitNotAcquired, errors.New(describeHolder(ctx, mu))}
	}
	return lease, err
}

// describeHolder says who holds the lock, as well as can be told afterwards.
func describeHolder(ctx context.Context, mu *lock.Mutex) string {
	queue, err := mu.Queue(ctx)
	if err != nil || len(queue) == 0 {
		return fmt.Sprintf("%s is not free", mu.Path())
	}
	return fmt.Sprintf("%s is held by %s", mu.Path(), describe(queue[0]))
}

// describe tells who a contender is. What it shows of itself may be anything.
func describe(c recipes.Contender) string {
	return fmt.Sprintf("%s since %s", strconv.Quote(c.Identity), c.Created.Local().Format(time.DateTime))
}

func (l *locker) sayWait(w lock.Wait) {
	l.say.say("%s is held by %s; waiting at position %d", l.path, describe(w.Holder), w.Position)
}

var errWaitOver = errors.New("--wait is over")

// notAcquired gives an error its exit code.
func (l *locker) notAcquired(ctx context.Context, err error, connected bool) error {
	end := (*exited)(nil)
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &end):
		return end
	case connected && errors.Is(cause, errWaitOver):
		return &codedError{exitNotAcquired, fmt.Errorf("%s was not acquired within %v%s", l.path, l.wait, behind(err))}
	}
	return err
}

// behind says whom a wait was for when it ended.
func behind(err error) string {
	w := (*recipes.WaitError)(nil)
	if !errors.As(err, &w) || w.Behind == "" {
		return ""
	}
	return fmt.Sprintf(": at position %d, behind %s", w.Position, strconv.Quote(w.Identity))
}

// vars is the environment of the command.
func (l *locker) vars(lease *recipes.Lease) []string {
	return append(slices.Clip(l.env.vars),
		"ZKR_FENCING_TOKEN="+lease.Token().String(),
		"ZKR_LOCK_PATH="+l.path)
}
