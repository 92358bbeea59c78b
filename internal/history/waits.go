package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Starved finds waiters that were not served in time once there were no faults.
func Starved(waits []Wait, l Limits) []Violation {
	var found []Violation
	for _, w := range waits {
		due := max(w.Asked, l.Quiet) + l.Serve
		gone := w.Gone != 0 && w.Gone <= due
		served := w.Served != 0 && w.Served <= due
		if !gone && !served && due <= l.End {
			found = append(found, Violation{"starved", w.Path, fmt.Sprintf("%s asked at %v, faults ended at %v, served at %v", w.Who, w.Asked, l.Quiet, w.Served)})
		}
	}
	return found
}

// ThroughAlone finds participants that a double barrier let in before so many
// were there, or out before all had set out.
//
// What counts is whether so many were there at one instant since nobody was. Who
// comes while somebody is on the way out still joins that round.
func ThroughAlone(stays []Stay) []Violation {
	var found []Violation
	for _, group := range byKey(stays, func(s Stay) string { return s.Path }) {
		changes := presence(group)
		for _, s := range group {
			if most := mostInRound(changes, s.Entered); s.Entered != 0 && most < s.N && !s.joins(group) {
				found = append(found, Violation{"barrier", s.Path, fmt.Sprintf("%s went in at %v with %d of %d there", s.Who, s.Entered, most, s.N)})
			}
			if s.Left == 0 {
				continue
			}
			for _, o := range group {
				if o.Entered != 0 && o.Entered < s.Leaving && !o.settledBy(s.Left) {
					found = append(found, Violation{"barrier", s.Path, fmt.Sprintf("%s went out at %v, and %s stayed", s.Who, s.Left, o.Who)})
				}
			}
		}
	}
	return found
}

// joins tells whether a participant may have found a round under way.
func (s Stay) joins(group []Stay) bool {
	return slices.ContainsFunc(group, func(o Stay) bool {
		out := cmp.Or(o.Left, o.Gone)
		return o != s && o.Entered != 0 && o.Entered <= s.Entered && (out == 0 || out >= s.Asked)
	})
}

// settledBy tells whether the participant had set out or died by then.
func (s Stay) settledBy(at time.Duration) bool {
	return s.Leaving != 0 && s.Leaving <= at || s.Died != 0 && s.Died <= at
}

// presenceChange is one more or less that may be there.
type presenceChange struct {
	at time.Duration
	n  int
}

// presence is who may have counted when: from the call of Enter to that of Leave.
func presence(stays []Stay) []presenceChange {
	var changes []presenceChange
	for _, s := range stays {
		changes = append(changes, presenceChange{s.Asked, 1})
		if end := cmp.Or(s.Leaving, s.Gone); end != 0 {
			changes = append(changes, presenceChange{end, -1})
		}
	}
	slices.SortFunc(changes, func(a, b presenceChange) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.n, a.n))
	})
	return changes
}

// mostInRound is the greatest number that may have been there at one instant up
// to at, since nobody was.
func mostInRound(changes []presenceChange, at time.Duration) int {
	there, most := 0, 0
	for _, c := range changes {
		if c.at > at {
			break
		}
		if there += c.n; there == 0 {
			most = 0
			continue
		}
		most = max(most, there)
	}
	return most
}
