package recipeshttp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// view is what the page says at one moment.
type view struct {
	Refresh  int         `json:"-"` // seconds, 0 for never
	Time     time.Time   `json:"time"`
	Held     list[held]  `json:"held"`
	Waiting  list[waits] `json:"waiting"`
	Sessions list[sess]  `json:"sessions"`
	Events   []event     `json:"events"`
	Counts   counts      `json:"counts"`
}

// list is a list that may have been cut.
type list[T any] struct {
	Total int `json:"total"`
	Rows  []T `json:"rows"`
}

// maxRows is how much of a list is shown.
const maxRows = 500

func newList[T any](rows []T, order func(a, b T) int) list[T] {
	slices.SortFunc(rows, order)
	return list[T]{Total: len(rows), Rows: append([]T{}, rows[:min(len(rows), maxRows)]...)}
}

// Omitted is how many rows there are beside those that are shown.
func (l list[T]) Omitted() int { return l.Total - len(l.Rows) }

// Unconnected is how many of the sessions that are shown are in doubt or over.
func (v *view) Unconnected() (n int) {
	for _, s := range v.Sessions.Rows {
		if s.State != recipes.Connected.String() {
			n++
		}
	}
	return n
}

// held is a lease.
type held struct {
	Path      text         `json:"path"`
	Kind      recipes.Kind `json:"kind"`
	Shared    bool         `json:"shared"`
	Token     string       `json:"token"`
	Remaining seconds      `json:"remaining_seconds"`
	HeldFor   seconds      `json:"held_seconds"`
	Session   id           `json:"session"`
	State     string       `json:"state"`
	Znode     text         `json:"znode"`
	Guards    []text       `json:"guards"`

	token int64
	low   bool // less is left than ever is while all is well
}

// Low says that less is left than ever is while all is well.
func (h held) Low() bool { return h.low }

// waits is a call.
type waits struct {
	Path     text         `json:"path"`
	Kind     recipes.Kind `json:"kind"`
	WaitsFor seconds      `json:"waiting_seconds"`
	Queued   bool         `json:"queued"`
	Position int          `json:"position,omitempty"`
	Behind   text         `json:"behind,omitempty"`
	First    *first       `json:"first,omitempty"`
	Session  id           `json:"session,omitempty"`
	Znode    text         `json:"znode,omitempty"`
}

// first is who stands before all others.
type first struct {
	Identity text `json:"identity"`
	Znode    text `json:"znode"`
	Session  id   `json:"session"`
	Holds    bool `json:"holds"`
}

// sess is a session, or a client that has none.
type sess struct {
	Identity  text    `json:"identity"`
	Session   id      `json:"session,omitempty"`
	State     string  `json:"state"`
	Since     seconds `json:"state_seconds"`
	Cause     text    `json:"cause,omitempty"`
	Server    text    `json:"server,omitempty"`
	Timeout   seconds `json:"timeout_seconds"`
	ProvenFor seconds `json:"proven_seconds"`
	Leases    int     `json:"leases"`
}

func (p *Page) view(now time.Time) *view {
	v := &view{Time: now}
	var leases []held
	var sessions []sess
	for _, c := range p.known() {
		s, l := p.ofClient(c, now)
		sessions, leases = append(sessions, s...), append(leases, l...)
	}
	v.Sessions = newList(sessions, func(a, b sess) int {
		return cmp.Or(cmp.Compare(a.Identity, b.Identity), cmp.Compare(uint64(a.Session), uint64(b.Session)))
	})
	v.Held = newList(leases, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.token, b.token))
	})
	v.Waiting = newList(p.noted(v, now), func(a, b waits) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Position, b.Position), cmp.Compare(b.WaitsFor, a.WaitsFor))
	})
	return v
}

// noted adds what was noted, and returns the calls. They are put in order without
// p.mu, for which locks wait.
func (p *Page) noted(v *view, now time.Time) []waits {
	p.mu.Lock()
	defer p.mu.Unlock()
	v.Events = newestFirst(&p.routine, &p.troubles)
	v.Counts = p.counts
	v.Counts.Lost = maps.Clone(p.counts.Lost)
	calls := make([]waits, 0, len(p.calls))
	for _, c := range p.calls {
		calls = append(calls, newWaits(c, now))
	}
	return calls
}

// ofClient asks a client what it has.
func (p *Page) ofClient(c *recipes.Client, now time.Time) (sessions []sess, leases []held) {
	for _, s := range c.Sessions() {
		state, _ := s.State()
		row := newSess(c, state)
		for _, l := range s.Leases() {
			if h, ok := newHeld(l, state); ok {
				leases = append(leases, h)
				row.Leases++
			}
		}
		row.Session, row.Server = id(s.ID()), clip(s.Server())
		row.Timeout, row.ProvenFor = seconds(s.Timeout()), seconds(s.ProvenFor())
		if ph, ok := p.phase(c, s.ID()); ok {
			row.Since, row.Cause = seconds(now.Sub(ph.since)), ph.cause
		}
		sessions = append(sessions, row)
	}
	if len(sessions) == 0 {
		state, _ := c.State()
		sessions = append(sessions, newSess(c, state))
	}
	return sessions, leases
}

func newSess(c *recipes.Client, state recipes.State) sess {
	return sess{Identity: clip(c.Identity()), State: state.String()}
}

func (p *Page) phase(c *recipes.Client, session int64) (phase, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ph, ok := p.clients[c][session]
	return ph, ok
}

// newHeld returns nothing of a lease that is over since it was listed.
func newHeld(l *recipes.Lease, state recipes.State) (held, bool) {
	left := l.Remaining()
	if left == 0 {
		return held{}, false
	}
	h := held{
		Path: clip(l.Path()), Kind: l.Kind(), Shared: l.Shared(), Token: l.Token().String(), token: int64(l.Token()),
		Remaining: seconds(left), HeldFor: seconds(l.HeldFor()), low: left < l.Session().Timeout()/5,
		Session: id(l.Session().ID()), State: state.String(), Znode: clip(l.Node()), Guards: []text{},
	}
	for _, g := range l.Guards() {
		h.Guards = append(h.Guards, clip(fmt.Sprintf("%T", g))) // what stands in it may be a secret
	}
	return h, true
}

func newWaits(c *call, now time.Time) waits {
	w := waits{
		Path: c.path, Kind: c.kind, WaitsFor: seconds(now.Sub(c.since)), Queued: c.znode != "",
		Position: c.position, Behind: c.behind, Session: id(c.session), Znode: c.znode,
	}
	if h := c.holder; h.Path != "" {
		w.First = &first{Identity: text(h.Identity), Znode: text(h.Path), Session: id(h.Session), Holds: h.Holds}
	}
	return w
}
