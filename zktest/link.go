package zktest

import "time"

// A link joins a follower to its leader: two streams that keep their order.
type link struct {
	up   stream // from the follower to the leader: requests, ping replies
	down stream // from the leader to the follower: commits, pings
}

// A stream delivers messages in order, late if it has a delay, and not at all
// while it is stalled. Guarded by the lock of the Server; messages are
// delivered under it.
type stream struct {
	clock   *clock
	delay   time.Duration
	stalled bool
	since   time.Time // when it was stalled
	queue   []message
	job     *job // delivers the first of the queue
}

type message struct {
	at      time.Time
	deliver func()
}

func (s *stream) send(deliver func()) {
	if s.delay == 0 && !s.stalled && len(s.queue) == 0 {
		deliver()
		return
	}
	s.queue = append(s.queue, message{time.Now().Add(s.delay), deliver})
	s.arm()
}

func (s *stream) arm() {
	if s.job != nil || s.stalled || len(s.queue) == 0 {
		return
	}
	s.job = s.clock.at(s.queue[0].at, func() {
		s.job = nil
		first := s.queue[0]
		s.queue = s.queue[1:]
		first.deliver()
		s.arm()
	})
}

// stall holds everything back, or lets it go again.
func (s *stream) stall(yes bool) {
	if yes && !s.stalled {
		s.since = time.Now()
	}
	s.stalled = yes
	if yes {
		s.clock.cancel(s.job)
		s.job = nil
	}
	s.arm()
}

// flush delivers all at once, or forgets it.
func (s *stream) flush(deliver bool) {
	s.clock.cancel(s.job)
	s.job = nil
	queue := s.queue
	s.queue = nil
	for _, m := range queue {
		if deliver {
			m.deliver()
		}
	}
}
