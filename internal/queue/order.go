package queue

import (
	"cmp"
	"context"
	"slices"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// list reads the queue: its contenders in their order.
func (q *Queue) list(ctx context.Context, s *recipes.Session) ([]entry, error) {
	names, stat, err := s.Children(ctx, q.dir)
	if err != nil {
		return nil, err
	}
	q.noteDir(stat)
	entries, strangers := q.contenders(names)
	entries, err = q.inOrder(ctx, s, entries)
	if len(entries) > 0 && len(strangers) > 0 {
		q.report(strangers, entries[0].seq)
	}
	return entries, err
}

func (q *Queue) contenders(names []string) (entries []entry, strangers []string) {
	entries = make([]entry, 0, len(names))
	for _, name := range names {
		if e, ok := q.layout.parse(name); ok {
			entries = append(entries, e)
		} else {
			strangers = append(strangers, name)
		}
	}
	return entries, strangers
}

// inOrder sorts contenders by their creation. Their numbers show it as long as
// the server's counter works; at the end of its range it sticks, jumps to
// negative numbers and back, and only the czxid tells.
func (q *Queue) inOrder(ctx context.Context, s *recipes.Session, entries []entry) ([]entry, error) {
	slices.SortFunc(entries, func(a, b entry) int {
		if a.seq == b.seq && a.tag.Shared != b.tag.Shared {
			return cmp.Compare(btoi(a.tag.Shared), btoi(b.tag.Shared))
		}
		return cmp.Compare(a.seq, b.seq)
	})
	if numbersTell(entries) {
		return entries, nil
	}
	return q.byCreation(ctx, s, entries)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbersTell reports whether sorted numbers show the order of creation.
func numbersTell(sorted []entry) bool {
	for i, e := range sorted {
		if !e.numbered() {
			return false
		}
		// A read lock that was made out of a write lock bears its number, and
		// stands in its place.
		if i > 0 && e.seq == sorted[i-1].seq && (sorted[i-1].tag.Shared || !e.tag.Shared) {
			return false
		}
	}
	return true
}

// byCreation sorts contenders by the transactions that made them.
func (q *Queue) byCreation(ctx context.Context, s *recipes.Session, entries []entry) ([]entry, error) {
	alive := make([]dated, 0, len(entries))
	for _, e := range entries {
		stat, ok, err := s.Exists(ctx, q.path(e))
		if err != nil {
			return nil, err
		}
		if ok {
			alive = append(alive, dated{e, stat.Czxid})
		}
	}
	return sortDated(alive), nil
}

// dated is a contender and the transaction that made it.
type dated struct {
	entry
	czxid int64
}

// sortDated sorts contenders by their transactions. A reader that was made out
// of a writer is younger than its place, which its number tells: before all that
// have a greater one, or none that is their own.
func sortDated(alive []dated) []entry {
	places := slices.Clone(alive)
	for i, r := range alive {
		if !r.tag.Shared || !r.numbered() {
			continue
		}
		for _, e := range alive {
			if e.czxid < r.czxid && (!e.numbered() || e.seq > r.seq) {
				places[i].czxid = min(places[i].czxid, e.czxid-1)
			}
		}
	}
	slices.SortFunc(places, func(a, b dated) int {
		return cmp.Or(cmp.Compare(a.czxid, b.czxid), cmp.Compare(a.seq, b.seq))
	})
	entries := make([]entry, len(places))
	for i, d := range places {
		entries[i] = d.entry
	}
	return entries
}

// index returns where a contender of ours stands, -1 if it does not.
func (q *Queue) index(entries []entry, own *recipes.Owned) int {
	return slices.IndexFunc(entries, func(e entry) bool { return q.path(e) == own.Path() })
}

// blockers are the contenders that a contender behind them has to wait for.
type blockers struct {
	n    int // how many there are
	last int // index of the last of them, the one to wait for
}

// blocking returns those among the entries before a contender with the given
// tag that it has to wait for: all of them, or if it is shared the exclusive
// ones.
func blocking(before []entry, tag Tag) blockers {
	if !tag.Shared { // without counting: who lists a queue asks this of each in it
		return blockers{n: len(before), last: len(before) - 1}
	}
	b := blockers{last: -1}
	for i, e := range before {
		if !e.tag.Shared {
			b.n++
			b.last = i
		}
	}
	return b
}

func (q *Queue) path(e entry) string { return q.dir + "/" + e.name }
