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

// watches maps paths to those who want to look again. One entry serves any
// number of server-side watches of its path: a wake-up too many is harmless,
// one too few is not.
type watches struct {
	mu     sync.Mutex
	byPath map[string]map[*Watcher]uint64 // with the events before its registration
}

// add registers fn, after the given number of events.
func (w *watches) add(path string, after uint64, fn Watcher) (remove func()) {
	key := &fn
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPath == nil {
		w.byPath = make(map[string]map[*Watcher]uint64)
	}
	set := w.byPath[path]
	if set == nil {
		set = make(map[*Watcher]uint64, 1)
		w.byPath[path] = set
	}
	set[key] = after
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		set := w.byPath[path]
		delete(set, key)
		if len(set) == 0 {
			delete(w.byPath, path)
		}
	}
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
		(*fn)(ev.event)
	}
	for _, fn := range others {
		(*fn)(Again)
	}
}

// of returns those who were registered when the event came, and those who were
// not yet.
func (w *watches) of(ev pathEvent) (witnesses, others []*Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for fn, after := range w.byPath[ev.path] {
		if ev.number > after {
			witnesses = append(witnesses, fn)
		} else {
			others = append(others, fn)
		}
	}
	return witnesses, others
}

// wakeAll is for when the client library may have lost events: on every
// reconnect.
func (w *watches) wakeAll() {
	w.mu.Lock()
	var fns []*Watcher
	for _, set := range w.byPath {
		for fn := range set {
			fns = append(fns, fn)
		}
	}
	w.mu.Unlock()
	for _, fn := range fns {
		(*fn)(Again)
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
