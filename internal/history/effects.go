package history

import (
	"fmt"
	"slices"
)

// Stale finds an effect with an older token behind one with a newer one.
func Stale(effects []Effect) []Violation {
	var found []Violation
	for _, group := range byKey(effects, func(e Effect) string { return e.Resource }) {
		newest := group[0]
		for _, e := range group[1:] {
			if e.Token < newest.Token {
				found = append(found, Violation{"stale", e.Resource, fmt.Sprintf("%q under token %d behind %q under %d", e.Value, e.Token, newest.Value, newest.Token)})
				continue
			}
			newest = e
		}
	}
	return found
}

// Outcomes finds writes that a resource has applied though it refused them, or
// that it has not applied, once and under their token, though it said so.
func Outcomes(ops []Operation, effects []Effect) []Violation {
	type key struct{ resource, value string }
	applied := make(map[key][]int64)
	for _, e := range effects {
		k := key{e.Resource, e.Value}
		applied[k] = append(applied[k], e.Token)
	}
	var found []Violation
	for _, w := range ops {
		if w.Kind != Write {
			continue
		}
		under := applied[key{w.Resource, w.Value}]
		times := len(under)
		ok := slices.Index(under, w.Token) == 0 && times == 1
		if bad := w.Outcome == Applied && !ok || (w.Outcome == Refused || w.Outcome == Failed) && times > 0 || times > 1; bad {
			found = append(found, Violation{"outcome", w.Resource, fmt.Sprintf("%q by %s under token %d was said to be %s, and took effect %d times, under %v", w.Value, w.Who, w.Token, w.Outcome, times, under)})
		}
	}
	return found
}

// Ghosts finds directories that were not empty in the end.
func Ghosts(left []Leftover) []Violation {
	var found []Violation
	for _, l := range left {
		if len(l.Names) > 0 {
			found = append(found, Violation{"ghost", l.Path, fmt.Sprintf("%q left behind", l.Names)})
		}
	}
	return found
}
