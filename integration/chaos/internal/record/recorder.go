package record

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/history"
)

// Recorder puts together what all workers of a storm print. All methods may be
// called from any goroutine.
type Recorder struct {
	// Linger is how long a participant of a barrier that has died may count.
	Linger time.Duration

	mu      sync.Mutex // guards what follows
	workers map[string]*worker
	effects []history.Effect
	deleted []deletion
}

// worker is what one process has told.
type worker struct {
	name     string
	attempts map[string]*attempt
	ops      map[string]*history.Operation
	stays    map[string]*stay
	overs    []time.Duration // ends of its sessions
	died     time.Duration
}

// attempt is one call that waits for a grant, and the grant.
type attempt struct {
	asked   Line
	granted Line
	queued  map[string][]time.Duration // by path
	to      time.Duration
	until   time.Duration
	end     time.Duration
	gone    time.Duration
}

// stay is one at a double barrier.
type stay struct{ history.Stay }

// deletion is that of a contender by an operator.
type deletion struct {
	at    time.Duration
	dir   string
	node  string
	token int64
}

func (r *Recorder) worker(name string) *worker {
	if r.workers == nil {
		r.workers = make(map[string]*worker)
	}
	w := r.workers[name]
	if w == nil {
		w = &worker{
			name: name, attempts: make(map[string]*attempt),
			ops: make(map[string]*history.Operation), stays: make(map[string]*stay),
		}
		r.workers[name] = w
	}
	return w
}

// Read takes a line of the worker of that name. The last line of one that was
// killed may be cut off.
func (r *Recorder) Read(name, text string) (Line, error) {
	l, err := Parse(text)
	if err != nil {
		return l, fmt.Errorf("record: %q of %s: %w", text, name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worker(name).read(l)
	return l, nil
}

// Killed says that a worker was killed, not before at.
func (r *Recorder) Killed(name string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worker(name).died = at
}

// Applied says what a resource has applied next.
func (r *Recorder) Applied(e history.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.effects = append(r.effects, e)
}

// Deleted says that an operator deletes a contender, from at on.
func (r *Recorder) Deleted(at time.Duration, dir, node string, token int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deleted = append(r.deleted, deletion{at, dir, node, token})
}

func (w *worker) read(l Line) {
	switch l.Event {
	case Over:
		w.overs = append(w.overs, l.At)
	case Called, Answered:
		w.readOperation(l)
	case Entering, Entered, Leaving, Left:
		w.readStay(l)
	case Asked:
		w.attempts[l.ID] = &attempt{asked: l, queued: make(map[string][]time.Duration)}
	default:
		if a := w.attempts[l.ID]; a != nil {
			a.read(l)
		}
	}
}

func (a *attempt) read(l Line) {
	switch l.Event {
	case Queued:
		a.queued[l.Path] = append(a.queued[l.Path], l.At)
	case Gone:
		a.gone = l.At
	case Granted:
		a.granted = l
	case Looked:
		a.to, a.until = max(a.to, l.At), max(a.until, l.Until)
	case Lost, Released:
		a.end = cmp.Or(a.end, l.At)
	}
}

func (w *worker) readOperation(l Line) {
	if l.Event == Called {
		w.ops[l.ID] = &history.Operation{
			Resource: l.Path, Who: w.name, Kind: l.Kind, Token: l.Token, Value: l.Value, Call: l.At, Outcome: history.Unknown,
		}
		return
	}
	o := w.ops[l.ID]
	o.Return, o.Outcome = l.At, l.Outcome
	if o.Kind == history.Read {
		o.Value = l.Value
	}
}

func (w *worker) readStay(l Line) {
	if l.Event == Entering {
		w.stays[l.ID] = &stay{history.Stay{Path: l.Path, Who: w.name, N: l.N, Asked: l.At}}
		return
	}
	s := w.stays[l.ID]
	switch {
	case l.Err != "": // it has given up, on the way in or out
		s.Died = l.At
	case l.Event == Entered:
		s.Entered = l.At
	case l.Event == Leaving:
		s.Leaving = l.At
	case l.Event == Left:
		s.Left = l.At
	}
}

// History returns what was recorded until end.
func (r *Recorder) History() history.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := history.History{Effects: slices.Clone(r.effects)}
	for _, w := range r.workers {
		for _, a := range w.attempts {
			h.Waits = append(h.Waits, a.wait(w))
			if a.granted.At != 0 {
				h.Holds = append(h.Holds, r.holds(w, a)...)
			}
		}
		for _, o := range w.ops {
			h.Ops = append(h.Ops, *o)
		}
		for _, s := range w.stays {
			h.Stays = append(h.Stays, r.stay(w, s.Stay))
			h.Waits = append(h.Waits, s.waits(w)...)
		}
	}
	slices.SortFunc(h.Holds, func(a, b history.Hold) int { return cmp.Compare(a.From, b.From) })
	slices.SortFunc(h.Ops, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return h
}

func (a *attempt) wait(w *worker) history.Wait {
	return history.Wait{
		Path: a.asked.Path, Who: w.name, Asked: a.asked.At, Served: a.granted.At, Gone: cmp.Or(a.gone, w.died),
	}
}

// waits are those for the way in and the way out of a barrier.
func (s *stay) waits(w *worker) []history.Wait {
	gone := cmp.Or(s.Died, w.died)
	in := history.Wait{Path: s.Path, Who: w.name, Asked: s.Asked, Served: s.Entered, Gone: gone}
	if s.Leaving == 0 {
		return []history.Wait{in}
	}
	return []history.Wait{in, {Path: s.Path, Who: w.name, Asked: s.Leaving, Served: s.Left, Gone: gone}}
}

// Waiting is the number of waits that began before an instant and go on.
func (r *Recorder) Waiting(before time.Duration) (n int) {
	for _, w := range r.History().Waits {
		if w.Asked < before && w.Served == 0 && w.Gone == 0 {
			n++
		}
	}
	return n
}

// holds returns the grant's hold of each of its paths.
func (r *Recorder) holds(w *worker, a *attempt) []history.Hold {
	paths, tokens := a.asked.Paths, a.granted.Tokens
	if len(paths) == 0 {
		paths, tokens = []string{a.asked.Path}, []int64{a.granted.Token}
	}
	var all []history.Hold
	for i, path := range paths {
		h := history.Hold{
			Path: path, Who: w.name, Mode: a.asked.Mode, N: a.asked.N, Limit: a.asked.Limit,
			Token: tokens[i], Session: a.granted.Session,
			Asked: a.asked.At, From: a.granted.At, To: a.to, Until: a.until, End: cmp.Or(a.end, w.died),
		}
		if q := a.queued[path]; len(q) > 0 {
			h.Queued, h.Requeued = q[0], len(q) > 1
		}
		for _, d := range r.deleted {
			if d.node == a.granted.Node || d.dir == path && d.token == h.Token {
				h.Deleted = d.at
			}
		}
		all = append(all, h)
	}
	return all
}

// stay says when a participant may have been taken for dead: when it died, or
// from its entry on where its session ended, which the servers knew before it.
func (r *Recorder) stay(w *worker, s history.Stay) history.Stay {
	if s.Died == 0 && s.Left == 0 {
		s.Died = w.died
	}
	if s.Died != 0 {
		s.Gone = s.Died + r.Linger
	}
	for _, over := range w.overs {
		if over >= s.Asked && (s.Left == 0 || over <= s.Left) {
			s.Died, s.Gone = cmp.Or(s.Entered, s.Asked), max(s.Gone, over)
		}
	}
	return s
}
