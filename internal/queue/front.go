package queue

import "sync"

// front remembers which contender of this process was last seen to have nobody
// before it. Nothing can be put before it since, so whoever stands right behind
// it is first as soon as that one is gone, without another look at the queue:
// among thousands of one process that would be thousands of names for each
// hand-over.
type front struct {
	mu   sync.Mutex
	name string // with a number of its own, so that it is never another one's
}

// pass notes that nobody stands before a contender.
func (f *front) pass(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name = name
}

// passed reports whether it is known that nobody stood before a contender. Who
// has given up its place instead of having had its turn is not known to.
func (f *front) passed(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.name == name
}
