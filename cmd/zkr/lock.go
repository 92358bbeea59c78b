//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"

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
			l := &locker{job: job{env: fs.env, variable: "ZKR_LOCK_PATH"}}
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
	job
	try bool
}

func (l *locker) register(fs *flags) {
	l.job.register(fs, "identity", "wait for the lock for this `DURATION` at most (default for ever)")
	fs.BoolVar(&l.try, "try", false, "do not wait: take the lock if it is free")
}

// settle takes the arguments in and checks what needs no server.
func (l *locker) settle(fs *flags, args []string) error {
	if err := l.job.settle(fs, args); err != nil {
		return err
	}
	if l.try && fs.isSet("wait") {
		return usagef("--try and --wait contradict each other")
	}
	return nil
}

func (l *locker) run(ctx context.Context) error {
	defer l.begin()()
	waiting, stopWaiting := untilSignal(ctx, l.caught)
	client, lease, err := l.acquire(waiting)
	stopWaiting()
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return err
	}
	h := holding{job: &l.job, lease: lease}
	return h.run(ctx)
}

// acquire connects and gets the lock.
func (l *locker) acquire(ctx context.Context) (*recipes.Client, *recipes.Lease, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	client, err := l.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	mu, err := lock.NewMutex(client, l.path, lock.WithOnWait(l.sayWait))
	if err != nil {
		return client, nil, err
	}
	defer l.sayOutages(client)()
	lease, err := l.take(ctx, mu)
	if err != nil {
		return client, nil, l.waitEnded(ctx, client, err, l.path+" was not acquired")
	}
	return client, lease, nil
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
	return fmt.Sprintf("%s is held by %v", mu.Path(), queue[0])
}

func (l *locker) sayWait(w lock.Wait) {
	l.say.say("%s is held by %v; waiting at position %d", l.path, w.Holder, w.Position)
}
