package recipes

import (
	"math"
	"time"
)

// far is later than anything.
const far time.Duration = math.MaxInt64 / 4

// keep is the session's keeper: one goroutine that follows the connection's
// state, ends leases when their time is over, arms the watches on their znodes,
// and forgets what was read too long ago. One timer serves all of them.
func (s *Session) keep() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		s.updateState()
		s.suspend()
		next := min(s.lapse(), s.arm())
		now := s.now()
		s.bases.age(now, s.Timeout())
		due := max(now, min(next, now+s.longestSleep()))
		timer.Reset(due - now)
		select {
		case <-timer.C:
			s.traceTimer(due)
		case <-s.pokes:
			s.traceTimer(due)
		case <-s.conn.Done():
			s.updateState()
			s.lapseAll()
			return
		}
	}
}

// relapse makes the keeper compare its leases with the clock anew.
func (s *Session) relapse() {
	s.mu.Lock()
	s.nextLapse = 0
	s.mu.Unlock()
	s.poke()
}

// lapse ends the leases whose time is over, and the contexts whose grace has
// begun. It returns when to look again.
func (s *Session) lapse() time.Duration {
	now := s.now()
	s.mu.Lock()
	if now < s.nextLapse && s.timeout == s.Timeout() {
		defer s.mu.Unlock()
		return s.nextLapse
	}
	s.timeout = s.Timeout() // a smaller one moves every deadline
	s.nextLapse = far
	leases := make([]*Lease, 0, len(s.leases))
	for l := range s.leases {
		leases = append(leases, l)
	}
	s.mu.Unlock()
	next := far
	for _, l := range leases {
		until, ok := l.until(now)
		if !ok {
			continue
		}
		next = min(next, until)
		if at, ok := l.stopping(now, until); ok {
			next = min(next, at)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextLapse = min(s.nextLapse, next) // a lease may have come in between
	return s.nextLapse
}

func (s *Session) lapseAll() {
	for _, l := range s.held() {
		l.until(s.now())
	}
}

// endLeases ends all leases for a reason other than the clock.
func (s *Session) endLeases(reason error) {
	for _, l := range s.held() {
		l.lose(reason)
	}
}

// suspend ends all leases of a session in doubt, where the user wants that.
func (s *Session) suspend() {
	connects := s.conn.Connects()
	blinked := s.suspendSeen != 0 && connects != s.suspendSeen // down and up again in between
	s.suspendSeen = connects
	if s.cfg.stopOnSuspend && (blinked || !s.conn.Connected()) && s.conn.Reason() == nil {
		s.endLeases(errSuspended)
	}
}

func (s *Session) held() []*Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	leases := make([]*Lease, 0, len(s.leases))
	for l := range s.leases {
		leases = append(leases, l)
	}
	return leases
}

// admit takes in a lease that was just granted.
func (s *Session) admit(l *Lease) {
	until, _ := s.conn.Chain().Until(l.grant, l.since)
	s.mu.Lock()
	s.addDemand()
	s.leases[l] = struct{}{}
	soon := until < s.nextLapse || len(s.arming) == 0
	s.nextLapse = min(s.nextLapse, until)
	s.arming = append(s.arming, l)
	s.mu.Unlock()
	if soon {
		s.poke()
	} else {
		s.pokeRenewer()
	}
}

// forget takes out a lease that is over.
func (s *Session) forget(l *Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, l)
	s.noteIdle()
}

// addDemand notes when the session began to need renewals. s.mu is held.
func (s *Session) addDemand() {
	if len(s.leases) == 0 && s.nextInRow == 0 {
		s.demand = s.now()
	}
}

// needed reports whether the session needs renewals, and since when.
func (s *Session) needed() (since time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demand, len(s.leases) > 0 || s.nextInRow > 0
}
