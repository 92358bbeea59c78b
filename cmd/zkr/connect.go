package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// connection is how a command reaches the ensemble: the flags that all commands
// share that do.
type connection struct {
	env      env
	servers  string
	within   time.Duration
	timeout  time.Duration
	tick     time.Duration
	identity string
	secrets
}

func (c *connection) register(fs *flags) {
	c.env = fs.env
	servers := fs.env.get("ZKR_CONNECT")
	if servers == "" {
		servers = "localhost:2181"
	}
	fs.StringVar(&c.servers, "connect", servers, "the `SERVERS` as host:port,host:port/chroot; the variable ZKR_CONNECT does the same")
	fs.DurationVar(&c.within, "connect-timeout", 30*time.Second, "give up where no server is reached within this `DURATION`, at the start")
	fs.DurationVar(&c.timeout, "session-timeout", recipes.DefaultSessionTimeout, "the servers end a session after this `DURATION` of silence; they may grant\nanother one")
	fs.DurationVar(&c.tick, "tick", 0, "the servers' tickTime, if known, a `DURATION`: with it leases bear longer outages;\nless than the truth makes them unsafe")
	c.secrets.register(fs)
}

// registerIdentity does so for commands that show something of themselves.
func (c *connection) registerIdentity(fs *flags, flag string) {
	fs.StringVar(&c.identity, flag, "", "the `NAME` to show to others (default host/pid)")
}

// dial connects. What the flags have got wrong comes as a usage error.
func (c *connection) dial(ctx context.Context, opts ...recipes.Option) (*recipes.Client, error) {
	all := []recipes.Option{recipes.WithSessionTimeout(c.timeout)}
	if c.tick != 0 {
		all = append(all, recipes.WithTickTime(c.tick))
	}
	if c.identity != "" {
		all = append(all, recipes.WithIdentity(c.identity))
	}
	proofs, err := c.secrets.options()
	if err != nil {
		return nil, err
	}
	all = append(all, proofs...)
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	connected := c.tellOfTheWait(ctx)
	client, err := recipes.Dial(ctx, c.servers, append(all, opts...)...)
	connected()
	// Whatever goes wrong after the options were accepted is an OpError.
	if op := (*recipes.OpError)(nil); err != nil && !errors.As(err, &op) {
		return nil, usagef("%s", inFlags.Replace(explain(err)))
	}
	return client, err
}

// tellOfTheWait says after a while that no server has been reached: whoever has
// the wrong address, or no server at all, need not wait for the end to learn of it.
func (c *connection) tellOfTheWait(ctx context.Context) (over func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		timer := time.NewTimer(3 * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			fmt.Fprintf(c.env.stderr, "zkr: no server reached yet at %s; trying for %v in all (see --connect, ZKR_CONNECT)\n", c.servers, c.within)
		case <-ctx.Done():
		}
	})
	return func() { cancel(); wg.Wait() }
}

// inFlags says with the names of flags what the library says with those of
// options.
var inFlags = strings.NewReplacer(
	"stop grace", "--kill-after",
	"session timeout", "--session-timeout",
	"tick time", "--tick",
	"connect string", "--connect",
)
