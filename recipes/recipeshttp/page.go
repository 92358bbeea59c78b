package recipeshttp

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Page is a debug page, as an http.Handler. It is safe for concurrent use.
type Page struct {
	// mu is held neither while a client, a session or a lease is asked for
	// something nor while a request is answered: a lease that is asked may find
	// itself lost, and say so to the Trace.
	mu       sync.Mutex
	clients  map[*recipes.Client]map[int64]phase // by session
	calls    map[uint64]*call                    // that have not returned yet
	seq      uint64                              // of the newest event
	routine  ring
	troubles ring
	counts   counts
}

// phase is what a session has last told of itself.
type phase struct {
	since time.Time
	cause text
}

// call is one that waits for a lease.
type call struct {
	since    time.Time
	path     text
	kind     recipes.Kind
	session  int64 // 0 before it has a place in a queue
	znode    text
	position int // 0 before it is told
	behind   text
	holder   recipes.Contender // with nothing in it that is not shown
}

// New returns a page that says nothing yet.
func New() *Page {
	return &Page{
		clients: make(map[*recipes.Client]map[int64]phase),
		calls:   make(map[uint64]*call),
		counts:  counts{Lost: make(map[recipes.Loss]uint64)},
	}
}

// known returns the clients, without those that are closed.
func (p *Page) known() []*recipes.Client {
	p.mu.Lock()
	clients := slices.Collect(maps.Keys(p.clients))
	p.mu.Unlock()
	return slices.DeleteFunc(clients, func(c *recipes.Client) bool {
		state, _ := c.State()
		if state != recipes.Closed {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.clients, c)
		return true
	})
}

// ServeHTTP answers GET and HEAD with the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	want, err := readRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v := p.view(time.Now())
	v.Refresh = want.refresh
	write := writeHTML
	if want.json {
		write = writeJSON
	}
	write(w, r, v)
}
