package zktest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A session is what the leader knows of a client's session. Guarded by the
// lock of the Server, as is the whole table.
type session struct {
	id      int64
	timeout time.Duration // as first negotiated; a restarted server goes by it
	bucket  int64         // it expires at the end of this tick
	owner   *Member       // where its client is, nil if not known yet
}

// sessions is the leader's session table. Like a real server's it expires
// sessions in buckets of one tick, so that a session lives for its timeout and
// up to a tick more.
type sessions struct {
	byID    map[int64]*session
	buckets map[int64]map[*session]struct{}
	tick    time.Duration
	origin  time.Time
	clock   *clock
	expire  func(*session)
}

func newSessions(tick time.Duration, c *clock, expire func(*session)) *sessions {
	return &sessions{
		byID: map[int64]*session{}, buckets: map[int64]map[*session]struct{}{},
		tick: tick, origin: time.Now(), clock: c, expire: expire,
	}
}

// track adds a session and starts its clock.
func (t *sessions) track(id int64, timeout time.Duration) {
	s := &session{id: id, timeout: timeout, bucket: -1}
	t.byID[id] = s
	t.move(s, timeout)
}

// touch puts off the end of a session and tells whether there is one.
func (t *sessions) touch(id int64, timeout time.Duration) bool {
	s := t.byID[id]
	if s != nil {
		t.move(s, timeout)
	}
	return s != nil
}

func (t *sessions) move(s *session, timeout time.Duration) {
	bucket := int64((time.Since(t.origin) + timeout) / t.tick)
	if bucket == s.bucket {
		return
	}
	delete(t.buckets[s.bucket], s)
	s.bucket = bucket
	if t.buckets[bucket] == nil {
		t.buckets[bucket] = map[*session]struct{}{}
		t.clock.at(t.origin.Add(time.Duration(bucket+1)*t.tick), func() { t.end(bucket) })
	}
	t.buckets[bucket][s] = struct{}{}
}

// end expires what is left in a bucket, in the order of the ids.
func (t *sessions) end(bucket int64) {
	due := slices.SortedFunc(maps.Keys(t.buckets[bucket]), func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range due {
		t.expire(s)
	}
	delete(t.buckets, bucket)
}

func (t *sessions) remove(id int64) {
	if s := t.byID[id]; s != nil {
		delete(t.buckets[s.bucket], s)
		delete(t.byID, id)
	}
}

// restart gives every session its full time again, as a new leader does.
func (t *sessions) restart() {
	for _, s := range t.byID {
		s.owner = nil
		t.move(s, s.timeout)
	}
}

// left is how long a session lives if nobody touches it. One that is parked has
// all its time.
func (t *sessions) left(s *session) time.Duration {
	if s.bucket < 0 {
		return s.timeout
	}
	return time.Until(t.origin.Add(time.Duration(s.bucket+1) * t.tick))
}

// park stops the clocks of all sessions.
func (t *sessions) park() {
	for _, s := range t.byID {
		delete(t.buckets[s.bucket], s)
		s.bucket = -1
	}
}

// claim checks that a request of a session comes from where its client is.
func (t *sessions) claim(id int64, from *Member) jute.Code {
	s := t.byID[id]
	switch {
	case s == nil:
		return jute.SessionExpired
	case s.owner == nil:
		s.owner = from
	case s.owner != from:
		return jute.SessionMoved
	}
	return jute.OK
}

// SessionPassword returns the password of a session. A real server computes it
// from the id alone, in the same way, so that whoever can read a Stat can take
// over the session that it names: ACLs do not protect sessions.
func SessionPassword(id int64) []byte {
	// This is java.util.Random with the seed and the constant of ZooKeeper.
	const mask = 1<<48 - 1
	seed := (uint64(id) ^ 0xB3415C00 ^ 0x5DEECE66D) & mask
	password := make([]byte, 0, 16)
	for len(password) < 16 {
		seed = (seed*0x5DEECE66D + 0xB) & mask
		for n, i := uint32(seed>>16), 0; i < 4; i++ {
			password = append(password, byte(n))
			n >>= 8
		}
	}
	return password
}
