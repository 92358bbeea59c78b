// Command library takes and gives this library's locks by command. The commands
// are in the documentation of package peers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/peers/internal/actor"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func main() {
	var opts []lock.ExclusiveOption
	if len(os.Args) > 3 && os.Args[3] == "kazoo" {
		opts = append(opts, lock.WithKazooNames())
	}
	if err := run(os.Args[1], os.Args[2], opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(connect, timeout string, opts []lock.ExclusiveOption) error {
	t, err := time.ParseDuration(timeout)
	if err != nil {
		return err
	}
	ctx := context.Background()
	// Python's and the client library's locks do not make the directory again.
	c, err := recipes.Dial(ctx, connect, recipes.WithSessionTimeout(t), recipes.WithTickTime(500*time.Millisecond),
		recipes.WithPersistentParents())
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Session(ctx)
	if err != nil {
		return err
	}
	actor.Say("ready", "-", s.ID(), actor.Now(), 0)
	actor.Run(func(name string, words []string) (*actor.Held, error) { return take(ctx, locks{c, opts}, words) })
	return nil
}

// take takes what the words say; for the time to try that is their last one if
// they begin with "try".
func take(ctx context.Context, c locks, words []string) (*actor.Held, error) {
	verb, trying := strings.CutPrefix(words[0], "try")
	if trying {
		millis, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return nil, err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(millis)*time.Millisecond)
		defer cancel()
	}
	l, err := c.acquire(ctx, verb, words[1:])
	if trying && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &actor.Held{
		Token:   int64(l.Token()),
		Ended:   func() bool { return l.Err() != nil },
		Revoked: l.Revoked(),
		GiveUp:  func() error { return l.Release(context.Background()) },
	}, nil
}

// locks makes locks.
type locks struct {
	c    *recipes.Client
	opts []lock.ExclusiveOption
}

func (c locks) acquire(ctx context.Context, verb string, args []string) (*recipes.Lease, error) {
	switch verb {
	case "lock", "revocable":
		m, err := lock.NewMutex(c.c, args[0], options[lock.MutexOption](c.opts)...)
		if err != nil {
			return nil, err
		}
		return m.Lock(ctx)
	case "rlock", "wlock":
		rw, err := lock.NewRWMutex(c.c, args[0], options[lock.RWMutexOption](c.opts)...)
		if err != nil {
			return nil, err
		}
		if verb == "rlock" {
			return rw.RLock(ctx)
		}
		return rw.Lock(ctx)
	case "lockall":
		m, err := lock.NewMulti(c.c, strings.Split(args[0], ","), options[lock.MultiOption](c.opts)...)
		if err != nil {
			return nil, err
		}
		return m.Lock(ctx)
	case "acquire":
		limit, err := strconv.Atoi(args[1])
		if err != nil {
			return nil, err
		}
		sem, err := lock.NewSemaphore(c.c, args[0], limit)
		if err != nil {
			return nil, err
		}
		return sem.Acquire(ctx)
	}
	return nil, fmt.Errorf("no such command: %s", verb)
}

// options are those for one kind of lock.
func options[O any](all []lock.ExclusiveOption) []O {
	var opts []O
	for _, o := range all {
		opts = append(opts, o.(O))
	}
	return opts
}
