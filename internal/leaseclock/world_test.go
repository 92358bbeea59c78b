package leaseclock_test

import (
	"container/heap"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

type instant = leaseclock.Instant

const (
	second = time.Second
	milli  = time.Millisecond
)

// world is a simulation of one session: two leaders, of which the second takes
// over at some time, two followers, and a client that moves between them.
//
// Only three things move the session's clock at a leader: creating the session,
// asking for it again, and a follower's answer to the leader's ping that names
// it. Whatever the client claims to know is compared with that clock at once: if
// everything were cut there and then, the session would end when it says.
type world struct {
	r    *rand.Rand
	now  instant
	jobs jobs
	seq  int

	timeout, tick time.Duration
	healthy       bool // nothing goes wrong by itself
	idle          bool // the client does nothing by itself
	leaders       [2]leader
	acting        int // the leader that commits
	followers     [2]*follower
	client        *client
}

type leader struct {
	known bool
	end   instant // of the session
}

func (l *leader) lives(now instant) bool { return l.known && now < l.end }

// follower is joined to its leader by two streams.
type follower struct {
	leader   int
	up, down *stream
	touched  bool // heard of the client since the leader's last ping
	era      int  // counts its streams: what was under way on old ones is lost
}

// stream delivers in order, held up by stalls, until it is cut.
type stream struct {
	stalls [][2]instant
	cut    instant
	last   instant
}

const never instant = 1 << 60

func newWorld(seed uint64, healthy bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{r: r, timeout: 10 * second, healthy: healthy}
	w.tick = []time.Duration{500 * milli, second, 2 * second, 5 * second}[r.IntN(4)]
	for i := range w.followers {
		w.followers[i] = &follower{up: w.newStream(), down: w.newStream()}
	}
	for l := range w.leaders {
		w.after(w.upTo(w.tick/2), func() { w.ping(l) })
	}
	if !healthy && r.IntN(3) == 0 {
		w.after(w.between(2*second, 50*second), w.depose)
	}
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.r.Int64N(int64(d) + 1)) }
func (w *world) between(a, b time.Duration) time.Duration {
	return a + w.upTo(b-a)
}

func (w *world) newStream() *stream {
	s := &stream{cut: never, last: w.now}
	if w.healthy {
		return s
	}
	t := w.now
	for range w.r.IntN(8) {
		t += time.Duration(w.r.ExpFloat64() * float64(4*second))
		d := w.upTo([]time.Duration{50 * milli, 500 * milli, 2 * second, 6 * second}[w.r.IntN(4)])
		s.stalls = append(s.stalls, [2]instant{t, t + d})
		t += d
	}
	if w.r.IntN(2) == 0 {
		s.cut = w.now + w.between(3*second, 40*second)
	}
	return s
}

// arrival returns when what is sent now arrives; ok is false if it never does.
func (s *stream) arrival(w *world) (instant, bool) {
	at := w.now + w.between(milli/2, 3*milli)
	for _, st := range s.stalls {
		if st[0] <= at && at < st[1] {
			at = st[1]
		}
	}
	at = max(at, s.last+1)
	if at >= s.cut {
		return 0, false
	}
	s.last = at
	return at, true
}

// toLeader and toFollower carry something over a follower's streams.
func (w *world) toLeader(f *follower, deliver func(*leader)) {
	l, era := f.leader, f.era
	if at, ok := f.up.arrival(w); ok {
		w.at(at, func() {
			if f.era == era {
				deliver(&w.leaders[l])
			}
		})
	}
}

func (w *world) toFollower(f *follower, deliver func()) {
	era := f.era
	if at, ok := f.down.arrival(w); ok {
		w.at(at, func() {
			if f.era == era {
				deliver()
			}
		})
	}
}

// ping is what a leader sends to its followers twice a tick, sometimes late.
func (w *world) ping(l int) {
	for _, f := range w.followers {
		if f.leader != l {
			continue
		}
		w.toFollower(f, func() {
			touched := f.touched
			f.touched = false
			w.toLeader(f, func(at *leader) {
				if touched && at.lives(w.now) {
					at.end = w.now + w.timeout
				}
			})
		})
	}
	late := time.Duration(0)
	if w.r.IntN(5) == 0 {
		late = w.upTo(w.tick / 4)
	}
	// The schedule is kept: one that is late does not move the next.
	w.after(w.tick/2, func() { w.after(late, func() { w.ping(l) }) })
}

// depose makes the second leader act. One follower goes with it at once, with
// new streams; the other stays behind until it notices.
func (w *world) depose() {
	old := w.leaders[w.acting]
	w.acting = 1
	w.leaders[1] = leader{known: old.lives(w.now), end: w.now + w.timeout}
	w.follow(w.followers[1])
	w.after(5*w.tick, func() { w.follow(w.followers[0]) })
}

func (w *world) follow(f *follower) {
	f.leader, f.touched = w.acting, false
	f.era++
	f.up, f.down = w.newStream(), w.newStream()
	w.client.hangUp(f)
}

// end returns when the session ends as things stand.
func (w *world) end() instant { return w.leaders[w.acting].end }

func (w *world) after(d time.Duration, run func()) { w.at(w.now+d, run) }

func (w *world) at(t instant, run func()) {
	w.seq++
	heap.Push(&w.jobs, job{t, w.seq, run})
}

// runUntil lets time pass.
func (w *world) runUntil(t instant) {
	for len(w.jobs) > 0 && w.jobs[0].at <= t {
		j := heap.Pop(&w.jobs).(job)
		w.now = j.at
		j.run()
	}
	w.now = t
}

type job struct {
	at  instant
	seq int
	run func()
}

type jobs []job

func (j jobs) Len() int { return len(j) }
func (j jobs) Less(a, b int) bool {
	return j[a].at < j[b].at || j[a].at == j[b].at && j[a].seq < j[b].seq
}
func (j jobs) Swap(a, b int) { j[a], j[b] = j[b], j[a] }
func (j *jobs) Push(x any)   { *j = append(*j, x.(job)) }
func (j *jobs) Pop() any {
	last := (*j)[len(*j)-1]
	*j = (*j)[:len(*j)-1]
	return last
}
