package zktest

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// An Option changes how a server behaves. The last of several for the same
// thing wins.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	tick                   time.Duration
	minTimeout, maxTimeout time.Duration
	members                int
	listen                 string
	inMemory               bool
	maxBuffer              int
	reapEvery              time.Duration
	extendedTypes          bool
	syncLimit              int
}

func newConfig(opts []Option) (config, error) {
	c := config{
		tick: 2 * time.Second, members: 1, listen: "127.0.0.1:0", maxBuffer: jute.MaxBuffer,
		reapEvery: time.Minute, extendedTypes: true, syncLimit: 5,
	}
	for _, o := range opts {
		o.apply(&c)
	}
	if c.minTimeout == 0 {
		c.minTimeout = 2 * c.tick
	}
	if c.maxTimeout == 0 {
		c.maxTimeout = 20 * c.tick
	}
	return c, c.check()
}

func (c *config) check() error {
	switch {
	case c.tick < time.Millisecond:
		return fmt.Errorf("zktest: tick of %v: must be at least 1ms", c.tick)
	case c.minTimeout < 0 || c.maxTimeout < c.minTimeout:
		return fmt.Errorf("zktest: session timeouts from %v to %v: must be positive and in order", c.minTimeout, c.maxTimeout)
	case c.members < 1 || c.members > 100:
		return fmt.Errorf("zktest: %d servers: must be 1 to 100", c.members)
	case c.maxBuffer < 1024:
		return fmt.Errorf("zktest: jute.maxbuffer of %d: must be at least 1024", c.maxBuffer)
	case c.reapEvery <= 0:
		return fmt.Errorf("zktest: container check every %v: must be positive", c.reapEvery)
	case c.syncLimit < 1:
		return fmt.Errorf("zktest: sync limit of %d ticks: must be at least 1", c.syncLimit)
	}
	return nil
}

// WithTick sets the tick, the unit of the server's time: sessions expire at
// its multiples. The default is 2 s, a real server's.
func WithTick(d time.Duration) Option { return option(func(c *config) { c.tick = d }) }

// WithSessionTimeouts sets the range into which the timeouts that clients ask
// for are brought. The default, also in the place of a 0, is 2 to 20 ticks.
func WithSessionTimeouts(least, most time.Duration) Option {
	return option(func(c *config) { c.minTimeout, c.maxTimeout = least, most })
}

// WithListen sets the TCP address of the first server; any others take free
// ports of the same host. The default is 127.0.0.1:0, a free port on loopback.
func WithListen(addr string) Option { return option(func(c *config) { c.listen = addr }) }

// WithInMemory makes the servers listen inside the process only. Clients reach
// them through Server.Dial. This is the way to run in a testing/synctest
// bubble, where an operation on a real socket would never count as idle.
func WithInMemory() Option { return option(func(c *config) { c.inMemory = true }) }

// WithFollowers adds n servers that follow the first, each with an address and
// a copy of the data of its own. The default is none.
func WithFollowers(n int) Option { return option(func(c *config) { c.members = n + 1 }) }

// WithMaxBuffer sets jute.maxbuffer, the size in bytes beyond which a request
// ends its connection. The default is 1,048,575.
func WithMaxBuffer(bytes int) Option { return option(func(c *config) { c.maxBuffer = bytes }) }

// WithContainerCheck sets how often containers and znodes with a time to live
// are looked at and deleted. The default is 1 min.
func WithContainerCheck(every time.Duration) Option {
	return option(func(c *config) { c.reapEvery = every })
}

// WithExtendedTypes says whether znodes may have a time to live. The default
// is yes; a real server allows it with zookeeper.extendedTypesEnabled only.
func WithExtendedTypes(yes bool) Option { return option(func(c *config) { c.extendedTypes = yes }) }

// WithSyncLimit sets after how many ticks of silence a follower and its leader
// give each other up. The default is 5.
func WithSyncLimit(ticks int) Option { return option(func(c *config) { c.syncLimit = ticks }) }
