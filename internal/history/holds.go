package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

func byGrant(a, b Hold) int { return cmp.Compare(a.From, b.From) }

// Overlaps finds holds of one path that exclude each other and were believed in
// at the same time. Permits exclude nobody; see [OverLimit].
func Overlaps(holds []Hold) []Violation {
	var found []Violation
	for _, group := range holdsByPath(holds) {
		slices.SortFunc(group, byGrant)
		var open []Hold // that reach beyond the grants so far
		for _, next := range group {
			open = slices.DeleteFunc(open, func(h Hold) bool { return h.Believed() < next.From })
			for _, h := range open {
				if exclude(h, next) {
					found = append(found, Violation{"overlap", h.Path, fmt.Sprintf("%v: %v and %v", h.Believed()-next.From, h, next)})
				}
			}
			open = append(open, next)
		}
	}
	return found
}

func exclude(a, b Hold) bool {
	return a.Mode != Permits && b.Mode != Permits && (a.Mode == Exclusive || b.Mode == Exclusive)
}

// Tokens finds exclusive grants of one path whose tokens do not strictly
// increase in the order of the grants.
func Tokens(holds []Hold) []Violation {
	var found []Violation
	for _, group := range holdsByPath(holds) {
		group = slices.DeleteFunc(group, func(h Hold) bool { return h.Mode != Exclusive })
		slices.SortFunc(group, byGrant)
		for i := 1; i < len(group); i++ {
			if group[i].Token <= group[i-1].Token {
				found = append(found, Violation{"token", group[i].Path, fmt.Sprintf("%v, then %v", group[i-1], group[i])})
			}
		}
	}
	return found
}

// OutOfOrder finds a hold that was granted before another one which was in the
// queue before it was even asked for. Who had lost its place, or was taken out
// of the queue, is not counted, and of two readers neither comes first.
func OutOfOrder(holds []Hold) []Violation {
	var found []Violation
	for _, group := range holdsByPath(holds) {
		group = slices.DeleteFunc(group, func(h Hold) bool { return h.Queued == 0 || h.Requeued })
		slices.SortFunc(group, byServed)
		// Those served later, from behind: the least instant at which one of them
		// stood in the queue.
		first := make([]Hold, len(group)) // of those that exclude readers
		shared := make([]Hold, len(group))
		for i := len(group) - 1; i >= 0; i-- {
			if i+1 < len(group) {
				first[i], shared[i] = first[i+1], shared[i+1]
				earlier(group[i+1], &first[i], &shared[i])
			}
			rivals := []Hold{first[i], shared[i]}
			if group[i].Mode == Shared {
				rivals = rivals[:1]
			}
			for _, r := range rivals {
				if r.Queued != 0 && r.Queued < group[i].Asked {
					found = append(found, Violation{"order", r.Path, fmt.Sprintf("%v, asked for at %v, before %v, queued at %v", group[i], group[i].Asked, r, r.Queued)})
				}
			}
		}
	}
	return found
}

// byServed is the order of the grants. The holders of permits do not exclude
// each other, so that the one served first may hear of it last: theirs is told
// by the znodes.
func byServed(a, b Hold) int {
	if a.Mode == Permits {
		return cmp.Compare(a.Token, b.Token)
	}
	return byGrant(a, b)
}

func earlier(h Hold, first, shared *Hold) {
	at := first
	if h.Mode == Shared {
		at = shared
	}
	if at.Queued == 0 || h.Queued < at.Queued {
		*at = h
	}
}

// OverLimit finds instants at which more permits of a semaphore were believed in
// than it has.
func OverLimit(holds []Hold) []Violation {
	type change struct {
		at time.Duration
		n  int
		by Hold
	}
	var found []Violation
	for _, group := range holdsByPath(holds) {
		var changes []change
		for _, h := range group {
			if h.Mode == Permits {
				changes = append(changes, change{h.From, h.N, h}, change{h.Believed(), -h.N, h})
			}
		}
		// At the same instant the end counts second: held is held.
		slices.SortFunc(changes, func(a, b change) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.n, a.n))
		})
		held := 0
		for _, c := range changes {
			if held += c.n; c.n > 0 && held > c.by.Limit {
				found = append(found, Violation{"limit", c.by.Path, fmt.Sprintf("%d of %d with %v", held, c.by.Limit, c.by)})
			}
		}
	}
	return found
}
