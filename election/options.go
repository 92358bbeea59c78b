package election

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Option changes how an Election works. Of two that set the same thing, the
// later one counts.
type Option interface{ apply(*settings) error }

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// settings is what the options fill in.
type settings struct {
	id      string
	layout  Layout
	overrun time.Duration
	guards  []fence.Installer
}

// Layout is a naming of candidates. All candidates of an election need the same,
// except that those of LeaderSelector and Kazoo count each other.
type Layout int

const (
	// LeaderLatch is that of Curator's LeaderLatch, and the default.
	LeaderLatch Layout = iota
	// LeaderSelector is that of Curator's LeaderSelector. Its candidates count
	// kazoo's; Curator's own do not.
	LeaderSelector
	// Kazoo is that of kazoo's Election, which counts no others.
	Kazoo
)

// names returns the queue's layout, and the tag of our own candidates in it.
func (l Layout) names() (queue.Layout, queue.Tag, error) {
	switch l {
	case LeaderLatch:
		return queue.Latch, queue.Latch[queue.Ours], nil
	case LeaderSelector:
		return queue.Selector, queue.Selector[queue.Ours], nil
	case Kazoo:
		return queue.Selector, queue.Selector[queue.Kazoo], nil
	}
	return nil, queue.Tag{}, fmt.Errorf("election: unknown layout %d", l)
}

// maxID bounds what candidates show of themselves.
const maxID = 4096

func checkID(id []byte) error {
	switch {
	case len(id) > maxID:
		return fmt.Errorf("election: id of %d bytes: want at most %d", len(id), maxID)
	case !utf8.Valid(id):
		return fmt.Errorf("election: id %q is not UTF-8, as which Curator shows it", id)
	case string(id) == string(recipes.Revocation()):
		return fmt.Errorf("election: id %q is what Curator asks a holder with to give its place back", id)
	}
	return nil
}

// WithID sets the id that the candidate shows, in Curator's listings too. The
// default is the client's identity.
func WithID(id string) Option {
	return option(func(s *settings) error {
		s.id = id
		return checkID([]byte(id))
	})
}

// WithLayout sets the naming of candidates.
func WithLayout(l Layout) Option {
	return option(func(s *settings) error {
		s.layout = l
		_, _, err := l.names()
		return err
	})
}

// WithOverrunAfter sets how long after the end of its context a function under
// Run may go on before that is reported, to the log and to recipes.Trace. The
// default is 5 s.
func WithOverrunAfter(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("election: overrun reported after %v: want more than 0", d)
		}
		s.overrun = d
		return nil
	})
}

// WithGuards has Run install the token of each term at the given guards before
// its function is called, so that they refuse writes of earlier leaders from
// then on. If one of them fails the place is given up, and Run goes on.
func WithGuards(guards ...fence.Installer) Option {
	return option(func(s *settings) error {
		s.guards = append(s.guards, guards...)
		return nil
	})
}

func newSettings(id string, opts []Option) (settings, error) {
	s := settings{id: id, overrun: 5 * time.Second}
	for _, o := range opts {
		if o == nil {
			return s, errors.New("election: nil option")
		}
		if err := o.apply(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}
