package recipeshttp

import (
	"cmp"
	"slices"
	"time"
)

// event is something that has happened.
type event struct {
	seq     uint64
	Time    time.Time `json:"time"`
	What    string    `json:"what"`
	Trouble bool      `json:"trouble"`
	Path    text      `json:"path,omitempty"`
	Token   string    `json:"token,omitempty"`
	Session id        `json:"session,omitempty"`
	Text    text      `json:"text,omitempty"`
}

// ring keeps the newest events.
type ring struct {
	events [100]event
	next   int
}

func (r *ring) add(e event) {
	r.events[r.next] = e
	r.next = (r.next + 1) % len(r.events)
}

// newestFirst returns the events of some rings in one list.
func newestFirst(rings ...*ring) []event {
	all := []event{}
	for _, r := range rings {
		for _, e := range r.events {
			if e.seq > 0 {
				all = append(all, e)
			}
		}
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(b.seq, a.seq) })
	return all
}

// note keeps an event. p.mu is held.
func (p *Page) note(e event) {
	p.seq++
	e.seq, e.Time = p.seq, time.Now()
	if e.Trouble {
		p.troubles.add(e)
	} else {
		p.routine.add(e)
	}
}
