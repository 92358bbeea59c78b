package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/history"
)

// hold is of path p, from an instant to another; tokens and queue go by the
// first one.
func hold(mode history.Mode, from, to time.Duration) history.Hold {
	return history.Hold{
		Path: "p", Mode: mode, N: 1, Limit: 2, Token: int64(from),
		Asked: from - 4, Queued: from - 2, From: from, To: to, Until: to + 5, End: to,
	}
}

func rules(found []history.Violation) []string {
	var all []string
	for _, v := range found {
		all = append(all, v.Rule)
	}
	return all
}

func TestHoldsBreakTheRulesTheyBreak(t *testing.T) {
	const ex, sh, pe = history.Exclusive, history.Shared, history.Permits
	with := func(h history.Hold, change func(*history.Hold)) history.Hold {
		change(&h)
		return h
	}
	unended := func(h *history.Hold) { h.End = 0 }
	deleted := func(h *history.Hold) { h.Deleted = 18 }
	for name, c := range map[string]struct {
		holds []history.Hold
		want  []string
	}{
		"one after the other":                     {[]history.Hold{hold(ex, 10, 20), hold(ex, 21, 30)}, nil},
		"in no order of the record":               {[]history.Hold{hold(ex, 21, 30), hold(ex, 10, 20)}, nil},
		"two at once":                             {[]history.Hold{hold(ex, 10, 20), hold(ex, 19, 30)}, []string{"overlap"}},
		"one within another":                      {[]history.Hold{hold(ex, 10, 40), hold(ex, 19, 30)}, []string{"overlap"}},
		"at the same instant":                     {[]history.Hold{hold(ex, 10, 20), hold(ex, 20, 30)}, []string{"overlap"}},
		"the promise counts":                      {[]history.Hold{with(hold(ex, 10, 20), unended), hold(ex, 25, 30)}, []string{"overlap"}},
		"past the promise nothing":                {[]history.Hold{with(hold(ex, 10, 20), unended), hold(ex, 26, 30)}, nil},
		"a promise is over once seen to be":       {[]history.Hold{with(hold(ex, 10, 20), func(h *history.Hold) { h.End = 23 }), hold(ex, 24, 30)}, nil},
		"a hold behind one that was short":        {[]history.Hold{hold(ex, 10, 40), hold(ex, 11, 12), hold(ex, 30, 31)}, []string{"overlap", "overlap"}},
		"the operator took it":                    {[]history.Hold{with(hold(ex, 10, 20), deleted), hold(ex, 19, 30)}, nil},
		"the operator took it before it knew":     {[]history.Hold{with(hold(ex, 10, 30), func(h *history.Hold) { h.Deleted, h.Token = 9, 2 }), hold(ex, 8, 12)}, nil},
		"before the operator took it":             {[]history.Hold{with(hold(ex, 10, 20), deleted), hold(ex, 17, 30)}, []string{"overlap"}},
		"on different paths":                      {[]history.Hold{hold(ex, 10, 20), with(hold(ex, 15, 30), func(h *history.Hold) { h.Path = "q" })}, nil},
		"readers together":                        {[]history.Hold{hold(sh, 10, 20), hold(sh, 11, 20)}, nil},
		"writer with a reader":                    {[]history.Hold{hold(sh, 10, 20), hold(ex, 11, 20)}, []string{"overlap"}},
		"writer with the first of two readers":    {[]history.Hold{hold(sh, 10, 40), hold(sh, 11, 20), hold(ex, 30, 35)}, []string{"overlap"}},
		"token not greater":                       {[]history.Hold{hold(ex, 10, 20), with(hold(ex, 30, 40), func(h *history.Hold) { h.Token = 10 })}, []string{"token"}},
		"a reader's token is no matter":           {[]history.Hold{hold(ex, 10, 20), with(hold(sh, 30, 40), func(h *history.Hold) { h.Token = 10 })}, nil},
		"two permits of two":                      {[]history.Hold{hold(pe, 10, 20), hold(pe, 11, 20), hold(pe, 21, 30)}, nil},
		"three permits of two":                    {[]history.Hold{hold(pe, 10, 20), hold(pe, 11, 20), hold(pe, 20, 30)}, []string{"limit"}},
		"two and one of two":                      {[]history.Hold{with(hold(pe, 10, 20), func(h *history.Hold) { h.N = 2 }), hold(pe, 11, 20)}, []string{"limit"}},
		"passed over":                             {[]history.Hold{hold(ex, 40, 50), with(hold(ex, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, []string{"order"}},
		"passed over by all":                      {[]history.Hold{hold(ex, 40, 50), hold(ex, 52, 55), with(hold(ex, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, []string{"order", "order"}},
		"queued at the same time":                 {[]history.Hold{hold(ex, 40, 50), with(hold(ex, 60, 70), func(h *history.Hold) { h.Queued = 37 })}, nil},
		"passed over, but it had lost its place":  {[]history.Hold{hold(ex, 40, 50), with(hold(ex, 60, 70), func(h *history.Hold) { h.Queued, h.Requeued = 35, true })}, nil},
		"a reader passed over by a writer":        {[]history.Hold{hold(ex, 40, 50), with(hold(sh, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, []string{"order"}},
		"a reader behind a reader":                {[]history.Hold{hold(sh, 40, 50), with(hold(sh, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, nil},
		"a writer passed over by a reader":        {[]history.Hold{hold(sh, 40, 50), with(hold(ex, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, []string{"order"}},
		"permits are in the order of their nodes": {[]history.Hold{hold(pe, 40, 50), with(hold(pe, 60, 70), func(h *history.Hold) { h.Asked, h.Queued, h.Token = 34, 35, 39 })}, nil},
		"a permit passed over":                    {[]history.Hold{hold(pe, 40, 50), with(hold(pe, 60, 70), func(h *history.Hold) { h.Queued = 35 })}, []string{"order"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := history.Check(history.History{Holds: c.holds}, history.Limits{})
			require.ElementsMatch(t, c.want, rules(found), "%v", found)
		})
	}
}

func TestEffectsAndOutcomes(t *testing.T) {
	effects := []history.Effect{{"r", 1, "a"}, {"r", 1, "b"}, {"q", 9, "a"}, {"r", 3, "c"}, {"r", 3, "d"}}
	require.Empty(t, history.Stale(effects))
	found := history.Stale(append(effects, history.Effect{"r", 2, "e"}, history.Effect{"r", 2, "f"}, history.Effect{"r", 3, "g"}))
	require.Equal(t, []string{"stale", "stale"}, rules(found), "%v", found)

	for _, c := range []struct {
		value   string
		token   int64
		outcome history.Outcome
		wrong   bool
	}{
		{"a", 1, history.Applied, false},
		{"a", 1, history.Unknown, false},
		{"a", 1, history.Refused, true},
		{"a", 1, history.Failed, true},
		{"a", 2, history.Applied, true},
		{"x", 1, history.Applied, true},
		{"x", 1, history.Unknown, false},
		{"x", 1, history.Refused, false},
	} {
		w := history.Operation{Resource: "r", Kind: history.Write, Token: c.token, Value: c.value, Outcome: c.outcome}
		require.Equal(t, c.wrong, len(history.Outcomes([]history.Operation{w}, effects)) > 0, "%+v", c)
		w.Kind = history.Read
		require.Empty(t, history.Outcomes([]history.Operation{w}, effects))
	}
	twice := []history.Effect{{"r", 1, "a"}, {"r", 1, "a"}}
	require.Len(t, history.Outcomes([]history.Operation{{Resource: "r", Kind: history.Write, Token: 1, Value: "a", Outcome: history.Unknown}}, twice), 1)
}

func TestGhosts(t *testing.T) {
	require.Len(t, history.Ghosts([]history.Leftover{{"p", nil}, {"q", []string{"x"}}}), 1)
}

func TestStarved(t *testing.T) {
	limits := history.Limits{Quiet: 100, Serve: 10, End: 200}
	for name, c := range map[string]struct {
		wait  history.Wait
		wrong bool
	}{
		"served in the storm":        {history.Wait{Asked: 1, Served: 90}, false},
		"served soon after it":       {history.Wait{Asked: 1, Served: 110}, false},
		"served late":                {history.Wait{Asked: 1, Served: 111}, true},
		"never served":               {history.Wait{Asked: 1}, true},
		"gone":                       {history.Wait{Asked: 1, Gone: 50}, false},
		"gone after it was too late": {history.Wait{Asked: 1, Gone: 150}, true},
		"asked late":                 {history.Wait{Asked: 150, Served: 160}, false},
		"asked late, served late":    {history.Wait{Asked: 150, Served: 161}, true},
		"the record ends before":     {history.Wait{Asked: 195}, false},
	} {
		require.Equal(t, c.wrong, len(history.Starved([]history.Wait{c.wait}, limits)) > 0, name)
	}
}

func TestThroughAlone(t *testing.T) {
	stay := func(who string, asked, entered, leaving, left time.Duration) history.Stay {
		return history.Stay{Path: "b", Who: who, N: 2, Asked: asked, Entered: entered, Leaving: leaving, Left: left}
	}
	dead := func(s history.Stay, died, gone time.Duration) history.Stay {
		s.Died, s.Gone = died, gone
		return s
	}
	for name, c := range map[string]struct {
		stays []history.Stay
		wrong bool
	}{
		"two go together":           {[]history.Stay{stay("a", 1, 11, 20, 31), stay("b", 10, 12, 30, 32)}, false},
		"in before the other came":  {[]history.Stay{stay("a", 1, 9, 20, 31), stay("b", 10, 12, 30, 32)}, true},
		"out before the other went": {[]history.Stay{stay("a", 1, 11, 20, 29), stay("b", 10, 12, 30, 32)}, true},
		"the next round begins anew": {[]history.Stay{
			stay("a", 1, 11, 20, 31), stay("b", 10, 12, 30, 32), stay("a", 33, 34, 0, 0)}, true},
		"a third one joins": {[]history.Stay{
			stay("a", 1, 11, 20, 31), stay("b", 10, 12, 30, 32), stay("c", 25, 26, 28, 0)}, false},
		"joins those on their way out": {[]history.Stay{stay("a", 1, 11, 20, 0), stay("b", 10, 12, 21, 0), stay("c", 25, 26, 0, 0)}, false},
		"comes when all are out":       {[]history.Stay{stay("a", 1, 11, 20, 22), stay("b", 10, 12, 21, 23), stay("c", 25, 26, 0, 0)}, true},
		"the other dies inside":        {[]history.Stay{stay("a", 1, 11, 20, 31), dead(stay("b", 10, 12, 0, 0), 25, 40)}, false},
		"the other dies too late":      {[]history.Stay{stay("a", 1, 11, 20, 24), dead(stay("b", 10, 12, 0, 0), 25, 40)}, true},
		"a dead one is counted a time": {[]history.Stay{dead(stay("a", 1, 0, 0, 0), 5, 40), stay("b", 10, 30, 0, 0)}, false},
		"but not for ever":             {[]history.Stay{dead(stay("a", 1, 0, 0, 0), 5, 40), stay("b", 41, 50, 0, 0)}, true},
	} {
		found := history.ThroughAlone(c.stays)
		require.Equal(t, c.wrong, len(found) > 0, "%s: %v", name, found)
	}
}
