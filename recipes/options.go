package recipes

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// DialFunc opens a connection to one server. addr is host:port as it stands in
// the connect string; names are resolved with every dial.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Option changes how a Client works. Of two that set the same thing, the later
// one counts.
type Option interface{ apply(*config) error }

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// config is what the options fill in. It does not change after Dial.
type config struct {
	servers       []string
	chroot        string
	timeout       time.Duration
	tick          time.Duration
	dial          DialFunc
	tls           *tls.Config // nil: none
	auth          []zkconn.Auth
	acl           []ACL
	parentACL     []ACL
	persistent    bool
	logger        *slog.Logger
	trace         Trace
	identity      string
	clock         Clock
	stopOnSuspend bool
	strictGrant   bool
	stopGrace     time.Duration
	ephemeralSize int
	maxReply      int
}

// DefaultSessionTimeout is the session timeout that a client asks for unless
// WithSessionTimeout says otherwise.
const DefaultSessionTimeout = 15 * time.Second

const (
	defaultEphemeralSize = 512 << 10
	defaultMaxReply      = 16 << 20
)

func newConfig(connect string, opts []Option) (*config, error) {
	servers, chroot, err := parseConnect(connect)
	if err != nil {
		return nil, err
	}
	c := &config{
		servers:       servers,
		chroot:        chroot,
		timeout:       DefaultSessionTimeout,
		dial:          new(net.Dialer).DialContext,
		acl:           WorldACL(PermAll),
		parentACL:     WorldACL(PermAll),
		logger:        slog.New(slog.DiscardHandler),
		identity:      defaultIdentity(),
		clock:         SystemClock(),
		ephemeralSize: defaultEphemeralSize,
		maxReply:      defaultMaxReply,
	}
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("recipes: nil option")
		}
		if err := o.apply(c); err != nil {
			return nil, err
		}
	}
	return c, c.settle()
}

// settle fills in what depends on other options, and checks it.
func (c *config) settle() error {
	if c.tls != nil {
		c.dial = overTLS(c.dial, c.tls)
	}
	if c.stopGrace == 0 {
		c.stopGrace = c.timeout / 20
	}
	tick := c.tick
	if tick == 0 {
		tick = c.timeout / 2
	}
	if tick > c.timeout/2 {
		return fmt.Errorf("recipes: session timeout %v: want at least two ticks of %v", c.timeout, tick)
	}
	if most := leaseclock.NewRhythm(c.timeout, tick).Floor() / 2; c.stopGrace > most {
		return fmt.Errorf("recipes: stop grace %v: want at most %v, half of what is left of a lease when an outage begins", c.stopGrace, most)
	}
	return nil
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// WithSessionTimeout sets the session timeout T to ask for; the servers answer
// with what they grant, usually between 2 and 20 of their ticks. The default is
// 15 s.
//
// A holder that dies keeps others waiting for up to T and a tick. On the other
// hand, an outage of the ensemble's leader, or a pause of the process, that
// lasts longer than what is left of a lease ends it: at least 0.4 T with a known
// tick of T/5 or less, 0.23 T otherwise.
func WithSessionTimeout(t time.Duration) Option {
	return option(func(c *config) error {
		if t < 100*time.Millisecond || t > 24*time.Hour {
			return fmt.Errorf("recipes: session timeout %v: want between 100ms and 24h", t)
		}
		c.timeout = t
		return nil
	})
}

// WithTickTime says what the servers' tickTime is. If it is not said, half the
// session timeout is assumed, which costs twice the renewals and leaves less of
// a lease when an outage begins. Saying less than the truth makes leases unsafe.
func WithTickTime(tick time.Duration) Option {
	return option(func(c *config) error {
		if tick < time.Millisecond {
			return fmt.Errorf("recipes: tick time %v: want the servers' tickTime, at least 1ms", tick)
		}
		c.tick = tick
		return nil
	})
}

// WithDialer sets what opens connections. The default is a net.Dialer.
func WithDialer(dial DialFunc) Option {
	return option(func(c *config) error {
		if dial == nil {
			return errors.New("recipes: nil dialer")
		}
		c.dial = dial
		return nil
	})
}

// WithTLS speaks TLS on what the dialer opens. The server's name is taken from
// the connect string where cfg has none. Where no certificate fits, see Dial.
func WithTLS(cfg *tls.Config) Option {
	return option(func(c *config) error {
		if cfg == nil {
			return errors.New("recipes: nil TLS configuration")
		}
		c.tls = cfg.Clone()
		return nil
	})
}

// WithAuth presents a credential on every connection of every session. It can
// be given more than once. For the scheme "digest", cred is user:password, and
// without TLS everybody on the way can read it. SASL is not supported. No error,
// log record, trace event or print of a client shows cred; they do show scheme.
func WithAuth(scheme string, cred []byte) Option {
	return option(func(c *config) error {
		if scheme == "" {
			return errors.New("recipes: authentication scheme is empty")
		}
		kept := bytes.Clone(cred)
		c.auth = append(c.auth, zkconn.Auth{Scheme: scheme, Cred: func() []byte { return kept }})
		return nil
	})
}

// WithACL sets the ACL of contenders and other znodes that are the client's
// own. The default lets everybody do everything.
func WithACL(acl ...ACL) Option {
	return option(func(c *config) error {
		if len(acl) == 0 {
			return errors.New("recipes: empty ACL")
		}
		c.acl = slices.Clone(acl)
		return nil
	})
}

// WithParentACL sets the ACL of directories made on the way, which all who
// contend share: whoever may not create children there cannot take part. The
// default lets everybody do everything.
func WithParentACL(acl ...ACL) Option {
	return option(func(c *config) error {
		if len(acl) == 0 {
			return errors.New("recipes: empty ACL")
		}
		c.parentACL = slices.Clone(acl)
		return nil
	})
}

// WithPersistentParents makes directories that stay. By default they are
// containers, which the server deletes some time after their last child; kazoo
// clients that share a path want them to stay.
func WithPersistentParents() Option {
	return option(func(c *config) error { c.persistent = true; return nil })
}

// WithLogger sets where to log. By default nothing is logged.
//
// What somebody ought to look at is a warning: a session that is suspended or lost, a
// lease that is lost, a release or another deletion that failed, a znode that keeps
// peers waiting, a leader's function that goes on. Sessions that begin, go on and are
// closed are information; grants and releases are for debugging. Records have the
// path, the token and the session that they are about. A session's id is as good as
// its password to whoever can reach the servers: see SECURITY.md.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) error {
		if l == nil {
			return errors.New("recipes: nil logger")
		}
		c.logger = l
		return nil
	})
}

// WithTrace sets functions to call as things happen. The last one counts: for
// several see [JoinTraces].
func WithTrace(t Trace) Option {
	return option(func(c *config) error { c.trace = t; return nil })
}

// WithIdentity sets what contenders show of themselves. The default is the
// host's name and the process id, as in "web-3/4711".
func WithIdentity(id string) Option {
	return option(func(c *config) error {
		if len(id) > 4096 {
			return fmt.Errorf("recipes: identity of %d bytes: want at most 4096", len(id))
		}
		c.identity = id
		return nil
	})
}

// WithClock sets the time that leases go by. The default is SystemClock; tests
// on virtual time use MonotonicClock.
func WithClock(clock Clock) Option {
	return option(func(c *config) error {
		if clock == nil {
			return errors.New("recipes: nil clock")
		}
		c.clock = clock
		return nil
	})
}

// WithStopOnSuspend ends leases as soon as the connection is in doubt, instead
// of letting them hold until their deadline.
func WithStopOnSuspend() Option {
	return option(func(c *config) error { c.stopOnSuspend = true; return nil })
}

// WithStrictGrant makes a lock wait for the proof of its lease. By default the
// first lease of an idle session is given on one committed write, and ends an
// eighth of the session timeout later unless it is proven by then.
func WithStrictGrant() Option {
	return option(func(c *config) error { c.strictGrant = true; return nil })
}

// WithStopGrace sets how long before the end of a lease the contexts end that
// Do and Run give to their function. The default is a twentieth of the session
// timeout; more than half of what is left of a lease when an outage begins is
// refused.
func WithStopGrace(d time.Duration) Option {
	return option(func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("recipes: stop grace %v: want more than 0", d)
		}
		c.stopGrace = d
		return nil
	})
}

// WithEphemeralBudget sets how many bytes of ephemeral paths one session may
// own before the client opens another one. The default, and the most, is 512
// KiB: closing a session logs all its paths in one transaction, and beyond twice
// jute.maxbuffer no server of the ensemble starts again.
func WithEphemeralBudget(bytes int) Option {
	return option(func(c *config) error {
		if bytes < 4<<10 || bytes > defaultEphemeralSize {
			return fmt.Errorf("recipes: ephemeral budget of %d bytes: want between 4 KiB and 512 KiB", bytes)
		}
		c.ephemeralSize = bytes
		return nil
	})
}

// WithMaxReply sets the size of the largest reply to accept, 16 MiB by default:
// the listing of some 200,000 contenders. A larger one ends the connection.
func WithMaxReply(bytes int) Option {
	return option(func(c *config) error {
		if bytes < 1<<20 || bytes > 1<<30 {
			return fmt.Errorf("recipes: largest reply of %d bytes: want between 1 MiB and 1 GiB", bytes)
		}
		c.maxReply = bytes
		return nil
	})
}
