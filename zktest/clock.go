package zktest

import (
	"container/heap"
	"sync"
	"time"
)

// A clock runs everything that happens at a time: session expiry, late
// packets, the pings between the servers. It has one goroutine, so that what
// is due runs in order, and none of it runs after stop has returned.
//
// Its jobs run under the lock it was made with. All its fields are guarded by
// that lock.
type clock struct {
	mu      *sync.Mutex
	jobs    jobHeap
	seq     int
	wake    chan struct{}
	done    chan struct{}
	ended   chan struct{}
	frozen  bool
	stopped bool
}

type job struct {
	at    time.Time
	seq   int // among equals, first come first
	run   func()
	index int // in the heap, -1 once taken out
}

func newClock(mu *sync.Mutex) *clock {
	c := &clock{mu: mu, wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{})}
	go c.loop()
	return c
}

// after schedules run. The caller holds the lock.
func (c *clock) after(d time.Duration, run func()) *job { return c.at(time.Now().Add(d), run) }

func (c *clock) at(t time.Time, run func()) *job {
	c.seq++
	j := &job{at: t, seq: c.seq, run: run}
	heap.Push(&c.jobs, j)
	if j.index == 0 {
		c.poke()
	}
	return j
}

// cancel takes a job out if it has not run. A nil job is fine. The caller
// holds the lock.
func (c *clock) cancel(j *job) {
	if j != nil && j.index >= 0 {
		heap.Remove(&c.jobs, j.index)
	}
}

// freeze stops the clock's hands until thawed: what came due meanwhile has run
// when the thaw returns. The caller holds the lock.
func (c *clock) freeze(yes bool) {
	c.frozen = yes
	c.due()
	c.poke()
}

func (c *clock) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// stop ends the goroutine and waits for it. The caller does not hold the lock.
func (c *clock) stop() {
	c.mu.Lock()
	if !c.stopped {
		c.stopped = true
		close(c.done)
	}
	c.mu.Unlock()
	<-c.ended
}

func (c *clock) loop() {
	defer close(c.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := c.runDue()
		if wait >= 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-c.wake:
		case <-c.done:
			return
		}
	}
}

// runDue runs what is due and returns how long until the next job, -1 for
// never.
func (c *clock) runDue() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.due()
}

// due does the work of runDue. The caller holds the lock.
func (c *clock) due() time.Duration {
	for len(c.jobs) > 0 && !c.frozen && !c.stopped {
		if wait := time.Until(c.jobs[0].at); wait > 0 {
			return wait
		}
		heap.Pop(&c.jobs).(*job).run()
	}
	return -1
}

type jobHeap []*job

func (h jobHeap) Len() int { return len(h) }
func (h jobHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}
func (h jobHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *jobHeap) Push(x any) {
	j := x.(*job)
	j.index = len(*h)
	*h = append(*h, j)
}
func (h *jobHeap) Pop() any {
	old := *h
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	j.index = -1
	return j
}
