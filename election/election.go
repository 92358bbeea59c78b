package election

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// ErrNoLeader is returned by Leader when nobody leads.
var ErrNoLeader = errors.New("election: no leader")

// Election is one participant of an election. It is safe for concurrent use;
// several campaigns at once contend like strangers.
type Election struct {
	c   *recipes.Client
	q   *queue.Queue
	tag queue.Tag
	s   settings

	mu     sync.Mutex
	newest *Term              // nil before the first
	duties map[*Term]struct{} // terms whose function under Run has not returned
}

// New returns a participant of the election at path. It makes nothing at the
// server yet. Nothing else may live in path.
func New(c *recipes.Client, path string, opts ...Option) (*Election, error) {
	if c == nil {
		return nil, errors.New("election: nil client")
	}
	s, err := newSettings(c.Identity(), opts)
	if err != nil {
		return nil, err
	}
	layout, tag, err := s.layout.names()
	if err != nil {
		return nil, err
	}
	q, err := queue.New(c, path, layout)
	if err != nil {
		return nil, err
	}
	return &Election{c: c, q: q, tag: tag, s: s, duties: make(map[*Term]struct{})}, nil
}

// Path returns the election's path.
func (e *Election) Path() string { return e.q.Dir() }

// ID returns the id that the participant shows.
func (e *Election) ID() string { return e.s.id }

// Campaign waits until it is elected and returns the term. ctx bounds the wait;
// it has no bearing on the term, which lasts until Resign or until it is lost.
//
// If ctx ends first, Campaign returns its error, as a *recipes.WaitError that
// says who was in the way, and the candidate is withdrawn, in the background
// where the server does not answer. If the election is won in the same instant,
// one of the two happens, never both.
func (e *Election) Campaign(ctx context.Context) (*Term, error) { return e.campaign(ctx, false) }

func (e *Election) campaign(ctx context.Context, byRun bool) (*Term, error) {
	lease, err := e.q.Acquire(ctx, queue.Request{Tag: e.tag, Data: []byte(e.s.id), Guards: e.s.guards})
	if err != nil {
		return nil, err
	}
	t := &Term{lease: lease, byRun: byRun}
	e.mu.Lock()
	defer e.mu.Unlock()
	// Another campaign may have won since, after this term was lost.
	if e.newest == nil || e.newest.Token() < t.Token() {
		e.newest = t
	}
	return t, nil
}

// Term returns the present term of this participant; ok is false when it does
// not lead. What it tells belongs together: the token is that of this term,
// whatever happens to the leadership meanwhile.
func (e *Election) Term() (t *Term, ok bool) {
	e.mu.Lock()
	t = e.newest
	e.mu.Unlock()
	if t == nil || !t.leads() {
		return nil, false
	}
	return t, true
}

// IsLeader reports whether this participant leads, by the lease clock: from the
// moment that a campaign is won until its term is over or Resign begins. It
// reads the clock, so that a process that was paused sees the truth at once.
func (e *Election) IsLeader() bool {
	_, ok := e.Term()
	return ok
}

// Leader returns who leads, ErrNoLeader if nobody does.
func (e *Election) Leader(ctx context.Context) (recipes.Contender, error) {
	leader, ok, err := e.q.First(ctx)
	for sessionEnded(err) {
		leader, ok, err = e.q.First(ctx)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", ErrNoLeader, e.Path())
	}
	return leader, err
}

// Candidates returns the candidates in their order, the leader first: ours,
// Curator's and kazoo's.
func (e *Election) Candidates(ctx context.Context) ([]recipes.Contender, error) {
	list, err := e.q.List(ctx)
	for sessionEnded(err) {
		list, err = e.q.List(ctx)
	}
	return list, err
}

// sessionEnded reports whether a read got no answer because its session ended
// meanwhile. There is, or will be, another one.
func sessionEnded(err error) bool {
	return errors.Is(err, recipes.ErrSessionExpired) && !errors.Is(err, recipes.ErrClosed)
}
