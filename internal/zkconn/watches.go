package zkconn

import "sync"

// Event says what a Watcher is called for.
type Event int

// Events. Only Deleted can be relied on, since a sequential znode that is gone
// never comes back; the others mean no more than "look again".
const (
	Again   Event = iota // the connection is another one, or the session is over
	Changed              // the znode or its children changed
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
	byPath map[string]map[*Watcher]struct{}
}

func (w *watches) add(path string, fn Watcher) (remove func()) {
	key := &fn
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPath == nil {
		w.byPath = make(map[string]map[*Watcher]struct{})
	}
	set := w.byPath[path]
	if set == nil {
		set = make(map[*Watcher]struct{}, 1)
		w.byPath[path] = set
	}
	set[key] = struct{}{}
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

func (w *watches) wake(ev pathEvent) {
	for _, fn := range w.of(ev.path) {
		(*fn)(ev.event)
	}
}

func (w *watches) of(path string) []*Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	fns := make([]*Watcher, 0, len(w.byPath[path]))
	for fn := range w.byPath[path] {
		fns = append(fns, fn)
	}
	return fns
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
	path  string
	event Event
}

// mailbox takes the events off the client library's goroutines, which must
// never wait.
type mailbox struct {
	mu     sync.Mutex
	events []pathEvent
	signal chan struct{} // holds one token while there is something to read
}

func newMailbox() *mailbox { return &mailbox{signal: make(chan struct{}, 1)} }

func (m *mailbox) put(ev pathEvent) {
	m.mu.Lock()
	m.events = append(m.events, ev)
	m.mu.Unlock()
	m.poke()
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
