package recipeshttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Trace returns what has the page know what a client does: to be given to
// recipes.WithTrace, for any number of clients, joined by recipes.JoinTraces with a
// Trace of one's own. A client that was closed is forgotten.
func (p *Page) Trace() recipes.Trace {
	return recipes.Trace{
		AcquireStart: p.acquireStart,
		AcquireDone:  p.acquireDone,
		SessionState: p.sessionState,
		Renewed:      p.renewed,
		Enqueued:     p.enqueued,
		Waiting:      p.waiting,
		Granted:      p.granted,
		Lost:         p.lost,
		Released:     p.released,
		CleanedUp:    p.cleanedUp,
		Overrun:      p.overrun,
		Stranger:     p.stranger,
	}
}

// counts say how often something has happened.
type counts struct {
	Calls          uint64                  `json:"calls"`
	NotGranted     uint64                  `json:"not_granted"`
	Granted        uint64                  `json:"granted"`
	Released       uint64                  `json:"released"`
	Lost           map[recipes.Loss]uint64 `json:"lost"`
	Renewals       uint64                  `json:"renewals"`
	RenewalsFailed uint64                  `json:"renewals_failed"`
	Sessions       uint64                  `json:"sessions"`
	SessionsLost   uint64                  `json:"sessions_lost"`
	Suspensions    uint64                  `json:"suspensions"`
	Deleted        uint64                  `json:"deleted"`
	NotDeleted     uint64                  `json:"not_deleted"`
	Overruns       uint64                  `json:"overruns"`
	Strangers      uint64                  `json:"strangers"`
}

func (p *Page) acquireStart(_ context.Context, ev recipes.AcquireEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Calls++
	p.calls[ev.Call] = &call{since: time.Now(), path: clip(ev.Path), kind: ev.Kind}
}

func (p *Page) acquireDone(_ context.Context, ev recipes.AcquireEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, ev.Call)
	if ev.Err != nil {
		p.counts.NotGranted++
		p.note(event{What: "not granted", Path: clip(ev.Path), Text: clip(fmt.Sprintf("after %v: %v", seconds(ev.Took), ev.Err))})
	}
}

func (p *Page) enqueued(ev recipes.ContenderEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[ev.Call]; c != nil {
		c.session, c.znode = ev.Session, clip(ev.Path)
		c.position, c.behind, c.holder = 0, "", recipes.Contender{}
	}
}

func (p *Page) waiting(ev recipes.WaitEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.calls[ev.Call]; c != nil {
		c.session, c.znode = ev.Session, clip(ev.Path)
		c.position, c.behind, c.holder = ev.Position, clip(ev.Behind), shown(ev.Holder)
	}
	p.note(event{What: "waits", Path: clip(ev.Lock), Session: id(ev.Session), Text: clip(fmt.Sprintf("at position %d, behind %s", ev.Position, text(ev.Behind).name()))})
}

func (p *Page) sessionState(ev recipes.SessionEvent) {
	p.known() // which forgets those that are closed
	p.mu.Lock()
	defer p.mu.Unlock()
	p.follow(ev)
	trouble := ev.State == recipes.Suspended || ev.State == recipes.Lost
	switch ev.State {
	case recipes.Suspended:
		p.counts.Suspensions++
	case recipes.Lost:
		p.counts.SessionsLost++
	}
	p.note(event{What: "session " + ev.State.String(), Trouble: trouble, Session: id(ev.Session), Text: clipErr(ev.Cause)})
}

// follow keeps since when a session is in its state, until that is over. p.mu is
// held.
func (p *Page) follow(ev recipes.SessionEvent) {
	if ev.Client == nil {
		return // no client has said so
	}
	phases := p.clients[ev.Client]
	if ev.State == recipes.Lost || ev.State == recipes.Closed {
		delete(phases, ev.Session)
		return
	}
	if phases == nil {
		phases = make(map[int64]phase)
		p.clients[ev.Client] = phases
	}
	if _, before := phases[ev.Session]; !before {
		p.counts.Sessions++
	}
	phases[ev.Session] = phase{time.Now(), clipErr(ev.Cause)}
}

func (p *Page) renewed(ev recipes.RenewalEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Renewals++
	if ev.Err != nil {
		p.counts.RenewalsFailed++
		p.note(event{What: "renewal failed", Trouble: true, Session: id(ev.Session), Text: clip(fmt.Sprintf("after %v: %v", seconds(ev.Took), ev.Err))})
	}
}

func (p *Page) granted(ev recipes.LeaseEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Granted++
	p.note(ofLease("granted", ev, ""))
}

func (p *Page) lost(ev recipes.LeaseEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	why, cause := recipes.Loss("unknown"), ev.Err
	if lost := (*recipes.LostError)(nil); errors.As(ev.Err, &lost) {
		why, cause = lost.Loss(), lost.Cause
	}
	p.counts.Lost[why]++
	e := ofLease("lost", ev, fmt.Sprintf("%s, held for %v: %v", why, seconds(ev.Held), cause))
	e.Trouble = true
	p.note(e)
}

func (p *Page) released(ev recipes.LeaseEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Released++
	words := fmt.Sprintf("held for %v", seconds(ev.Held))
	if ev.Err != nil {
		words += fmt.Sprintf(", not known to be gone: %v", ev.Err)
	}
	e := ofLease("released", ev, words)
	e.Trouble = ev.Err != nil
	p.note(e)
}

func ofLease(what string, ev recipes.LeaseEvent, words string) event {
	return event{What: what, Path: clip(ev.Path), Token: ev.Token.String(), Session: id(ev.Session), Text: clip(words)}
}

func (p *Page) cleanedUp(ev recipes.CleanupEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.Err == nil {
		p.counts.Deleted++
		return
	}
	p.counts.NotDeleted++
	p.note(event{What: "not deleted", Trouble: true, Path: clip(ev.Path), Session: id(ev.Session), Text: clipErr(ev.Err)})
}

func (p *Page) overrun(ev recipes.OverrunEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Overruns++
	p.note(event{What: "overrun", Trouble: true, Path: clip(ev.Path), Token: ev.Token.String(), Session: id(ev.Session),
		Text: clip(fmt.Sprintf("runs still, %v after the end of its context: %v", seconds(ev.For), ev.Cause))})
}

func (p *Page) stranger(ev recipes.StrangerEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Strangers++
	p.note(event{What: "stranger", Trouble: true, Path: clip(ev.Dir), Text: clip("makes Curator's clients wait: " + ev.Name)})
}
