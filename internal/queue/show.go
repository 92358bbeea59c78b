package queue

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// read returns what a contender shows that has the given ones before it.
func (q *Queue) read(ctx context.Context, s *recipes.Session, before []entry, e entry) (recipes.Contender, error) {
	data, stat, err := s.Get(ctx, q.path(e))
	if err != nil {
		return recipes.Contender{}, err
	}
	return q.withBase(ctx, s, e, q.show(len(before), holds(before, e.tag), e, data, stat))
}

// withBase makes the token of a contender what it would be granted now.
func (q *Queue) withBase(ctx context.Context, s *recipes.Session, e entry, c recipes.Contender) (recipes.Contender, error) {
	if e.tag.enters {
		return c, nil
	}
	base, err := s.FenceBase(ctx, q.dir)
	c.Token += base
	return c, err
}

// Permit returns what a permit shows.
func (q *Queue) Permit(ctx context.Context, s *recipes.Session, path string) (recipes.Contender, error) {
	data, stat, err := s.Get(ctx, path)
	if err != nil {
		return recipes.Contender{}, err
	}
	c := q.describe(path, Permit, data, stat)
	c.Holds = true
	return c, nil
}

// holds reports whether a contender with these before it has nobody in its way,
// and nothing else to wait for.
func holds(before []entry, tag Tag) bool { return !tag.enters && blocking(before, tag).n == 0 }

// show returns what a contender shows that has so many before it.
func (q *Queue) show(ahead int, holds bool, e entry, data []byte, stat recipes.Stat) recipes.Contender {
	c := q.describe(q.path(e), e.tag, data, stat)
	c.Position = ahead
	c.Holds = holds
	return c
}

// describe returns what a znode says of itself.
func (q *Queue) describe(path string, tag Tag, data []byte, stat recipes.Stat) recipes.Contender {
	c := recipes.Contender{
		Path:     path,
		Kind:     tag.Kind,
		Naming:   naming(path[strings.LastIndex(path, "/")+1:], tag),
		Identity: identity(data),
		Session:  stat.EphemeralOwner,
		Token:    fence.Token(stat.Czxid),
		Created:  stat.Created,
	}
	c.Age = q.Age(c.Created)
	return c
}

// Age returns how long ago something was created, by the servers' clock, 0 where
// that is not known.
func (q *Queue) Age(created time.Time) time.Duration {
	now, ok := q.c.ServerTime()
	if !ok || created.IsZero() {
		return 0
	}
	// Servers cut times to milliseconds. What comes from the future all the same
	// shows that the clocks are not to be compared.
	return max(0, now.Sub(created)+time.Millisecond)
}

var (
	curators   = regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-$`)
	goClients  = regexp.MustCompile(`^_c_[0-9a-f]{32}-$`)
	kazooLocks = regexp.MustCompile(`^[0-9a-f]{32}$`) // where its locks are told another tag
)

// naming tells whose names a contender's is one of.
func naming(name string, tag Tag) recipes.Naming {
	prefix, _, _ := strings.Cut(name, tag.Text)
	switch {
	case tag.kazoo || kazooLocks.MatchString(prefix):
		return recipes.NamingKazoo
	case curators.MatchString(prefix):
		return recipes.NamingCurator
	case goClients.MatchString(prefix):
		return recipes.NamingGoZooKeeper
	}
	return recipes.NamingOther
}
