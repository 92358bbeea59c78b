package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// renew is the session's renewer: one goroutine that keeps the chain of
// committed writes going while somebody needs it, one write outstanding at a
// time. Other writes of the session serve as well, and spare its own.
func (s *Session) renew() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var blocked time.Duration // no renewal before this, after one that failed
	for s.ctx.Err() == nil {
		now := s.now()
		at := max(s.nextRenewal(now), blocked)
		if at <= now {
			if err := s.renewOnce(); err != nil {
				blocked = s.now() + s.Timeout()/20
			}
			continue
		}
		timer.Reset(min(at-now, time.Hour))
		select {
		case <-timer.C:
		case <-s.renewerPoke:
		case <-s.ctx.Done():
		}
	}
}

// nextRenewal returns when a renewal is due. A connection on which none can come
// in time is given up.
func (s *Session) nextRenewal(now time.Duration) time.Duration {
	since, ok := s.needed()
	link := s.conn.Link()
	if !ok || link == nil {
		return far
	}
	chain := s.conn.Chain()
	rhythm, deadline := chain.Rhythm(), chain.Deadline()
	if rhythm.Stuck(now, deadline, link) {
		s.conn.Drop(errStuck)
		return far // the next connection wakes the renewer
	}
	at := rhythm.Next(now, deadline, link)
	if s.cfg.strictGrant {
		return at
	}
	// A section that is over soon pays for no renewal.
	return max(at, since+rhythm.Proof())
}

// renewOnce commits one write. Where that takes too long the connection is
// given up: its server may be cut off from the leader, and another one not.
func (s *Session) renewOnce() error {
	patience := s.conn.Chain().Rhythm().Patience()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	start, link := s.now(), s.conn.Link()
	err := s.confirm(ctx)
	if errors.Is(err, zkconn.ErrAbandoned) && s.ctx.Err() == nil && s.conn.Link() == link {
		s.conn.Drop(errRenewal)
	}
	s.proved()
	if fn := s.cfg.trace.Renewed; fn != nil {
		now := s.now()
		fn(RenewalEvent{Session: s.ID(), Took: now - start, Remaining: max(0, s.conn.Chain().Deadline()-now), Err: translate(err)})
	}
	return err
}

var (
	errRenewal   = errors.New("a renewal was not answered in time")
	errStuck     = errors.New("what was answered of late does not suffice to prove the session in time")
	errSuspended = errors.New("the connection is in doubt, and the client was told to stop then")
)

// proofs returns a channel that is closed after the next renewal.
func (s *Session) proofs() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proof
}

func (s *Session) proved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.proof)
	s.proof = make(chan struct{})
}
