package zkconn

import "sync"

// Event says what a Watcher is called for.
type Event int

// Events. Deleted and Created tell what has happened since the watcher was
// registered, which what is read then may show no more; the others mean no more
// than "look again".
const (
	Again   Event = iota // the connection is another one, or the session is over
	Changed              // the znode or its children changed
	Created              // the znode was created
	Deleted              // the znode was deleted
)

// Watcher is called when something may have changed: its path, the connection,
// or the session. It is called on the session's goroutine and must not block.
type Watcher func(Event)

// Watching is the registration of a Watcher.
type Watching struct {
	fn    Watcher
	after uint64 // so many events came before it
	in    *watches
	path  string

	prev, next *Watching // of the same path
}

// watches maps paths to those who want to look again. One entry serves any
// number of server-side watches of its path: a wake-up too many is harmless,
// one too few is not.
//
// A process may hold a hundred thousand locks, each with its path here and one
// who listens to it: hence a list without anything around it.
type watches struct {
	mu     sync.Mutex
	byPath map[string]*Watching
}

// add registers fn, after the given number of events.
func (w *watches) add(path string, after uint64, fn Watcher) *Watching {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPath == nil {
		w.byPath = make(map[string]*Watching)
	}
	n := &Watching{fn: fn, after: after, in: w, path: path, next: w.byPath[path]}
	if n.next != nil {
		n.next.prev = n
	}
	w.byPath[path] = n
	return n
}

// Stop ends the registration; more than once is as good as once. A call that has
// begun may still be under way.
func (n *Watching) Stop() {
	w := n.in
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case n.prev != nil:
		n.prev.next = n.next
	case w.byPath[n.path] != n:
		return // stopped before
	case n.next != nil:
		w.byPath[n.path] = n.next
	default:
		delete(w.byPath, n.path)
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
}

// has reports whether somebody wants to hear of the path.
func (w *watches) has(path []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.byPath[string(path)]
	return ok
}

// wake calls those who watch the event's path. Who was registered only after the
// event had come looks again: what it has read may be newer, so that the event
// says nothing certain, or older.
func (w *watches) wake(ev pathEvent) {
	witnesses, others := w.of(ev)
	for _, fn := range witnesses {
		fn(ev.event)
	}
	for _, fn := range others {
		fn(Again)
	}
}

// of returns those who were registered when the event came, and those who were
// not yet.
func (w *watches) of(ev pathEvent) (witnesses, others []Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := w.byPath[ev.path]; n != nil; n = n.next {
		if ev.number > n.after {
			witnesses = append(witnesses, n.fn)
		} else {
			others = append(others, n.fn)
		}
	}
	return witnesses, others
}

// wakeAll is for when the client library may have lost events: on every
// reconnect.
func (w *watches) wakeAll() {
	w.mu.Lock()
	var fns []Watcher
	for _, n := range w.byPath {
		for ; n != nil; n = n.next {
			fns = append(fns, n.fn)
		}
	}
	w.mu.Unlock()
	for _, fn := range fns {
		fn(Again)
	}
}

type pathEvent struct {
	path   string
	event  Event
	number uint64 // of the event in its session, from 1
}

// mailbox takes the events off the client library's goroutines, which must
// never wait.
type mailbox struct {
	mu     sync.Mutex
	events []pathEvent
	count  uint64        // of all events so far
	signal chan struct{} // holds one token while there is something to read
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (m *mailbox) put(path string, event Event) {
	m.mu.Lock()
	m.count++
	m.events = append(m.events, pathEvent{path, event, m.count})
	m.mu.Unlock()
	m.poke()
}

// received returns how many events there have been.
func (m *mailbox) received() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

func (m *mailbox) poke() {
	select {
	case m.signal <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []pathEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}
