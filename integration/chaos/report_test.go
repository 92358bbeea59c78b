package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/chaos/timeline"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/internal/history"
)

// shown is how much of a storm the picture shows.
const shown = time.Minute

// tell writes the report.
func (s *storm) tell(report *proof.Report, h history.History) {
	faults := s.faults()
	report.Printf("%s (%s); %s.", s.ens.Provider(), s.release(), s.db.Version(s.t))
	report.Printf("**%d grants under %d faults of %d kinds; %d violations.**",
		len(h.Holds), len(faults), len(count(faults, func(f timeline.Fault) string { return f.Kind })), s.violations())
	report.Table(s.verdict())
	report.Table(s.grants(h))
	report.Table(faultTable(faults))
	report.Table(s.writes(h))
	alone, lost := s.succession(h.Holds)
	report.Printf("%d leases were lost or cut off by death; the least time between the end of a belief and the next exclusive grant of the path was %v. All holds together: %v.", lost, alone, believedFor(h.Holds))
	outage, at := s.outage(h.Holds)
	report.Printf("Longest time without any grant: %v, from %v into the storm. Longest wait of one that was served: %v; once the faults had ended, %v from then on (bound %v).",
		ms(outage), ms(at), ms(longestWait(h.Waits, 0)), ms(longestWait(h.Waits, s.quiet)), serve)
	report.Printf("The directories were empty %v after half of the workers had been killed and the others told to stop (bound %v).", ms(s.cleared), 2*T)
	s.draw(report, h)
}

// rules are what a record is judged by, and what each says.
var rules = [][2]string{
	{"overlap", "holds that exclude each other overlap in no instant, readers and writers included"},
	{"token", "tokens of exclusive grants of one path strictly increase"},
	{"stale", "no effect of an older token behind one of a newer"},
	{"outcome", "what was said to be applied was, once, and what was refused was not"},
	{notLinear, "the registers' operations have an order in which they can have happened"},
	{"ghost", "the directories are empty within 2 T after the storm"},
	{"starved", "without faults every waiter is served in time"},
	{"order", "who queued before another one asked is served before it, unless it lost its place"},
	{"limit", "never more permits than there are"},
	{"barrier", "nobody goes through a barrier alone"},
}

func (s *storm) violations() (n int) {
	for _, k := range s.broken {
		n += k
	}
	return n
}

func (s *storm) verdict() [][]string {
	rows := [][]string{{"rule", "violations"}}
	for _, r := range rules {
		rows = append(rows, []string{r[1], fmt.Sprint(s.broken[r[0]])})
	}
	return rows
}

// release is what a server says that it is.
func (s *storm) release() string {
	answer, err := s.ens.Servers[0].Word(bounded(s.t, startTimeout), "srvr")
	require.NoError(s.t, err)
	first, _, _ := strings.Cut(answer, "\n")
	version, _, _ := strings.Cut(strings.TrimPrefix(first, "Zookeeper version: "), ",")
	return version
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func count[T any](all []T, key func(T) string) map[string]int {
	n := make(map[string]int)
	for _, v := range all {
		n[key(v)]++
	}
	return n
}

func (s *storm) grants(h history.History) [][]string {
	rows := [][]string{{"path", "kind", "grants", "deleted by the operator", "lost their place", "waits given up or killed"}}
	gone := count(h.Waits, func(w history.Wait) string {
		if w.Served == 0 {
			return w.Path
		}
		return ""
	})
	byPath := make(map[string][]history.Hold)
	for _, hold := range h.Holds {
		k := strings.TrimPrefix(hold.Path, s.root) + " | " + string(hold.Mode)
		byPath[k] = append(byPath[k], hold)
	}
	told := make(map[string]bool)
	for _, k := range sortedKeys(byPath) {
		deleted, requeued := 0, 0
		for _, hold := range byPath[k] {
			if hold.Deleted != 0 {
				deleted++
			}
			if hold.Requeued {
				requeued++
			}
		}
		path, _, _ := strings.Cut(k, " | ")
		waits := ""
		if !told[path] {
			told[path] = true
			waits = fmt.Sprint(gone[s.root+path])
		}
		_, mode, _ := strings.Cut(k, " | ")
		rows = append(rows, []string{path, mode, fmt.Sprint(len(byPath[k])), fmt.Sprint(deleted), fmt.Sprint(requeued), waits})
	}
	in := 0
	for _, stay := range h.Stays {
		if stay.Entered != 0 {
			in++
		}
	}
	return append(rows, []string{"/barrier", "went in", fmt.Sprint(in), "", "", fmt.Sprint(len(h.Stays) - in)})
}

func faultTable(faults []timeline.Fault) [][]string {
	rows := [][]string{{"fault", "times", "longest"}}
	longest := make(map[string]time.Duration)
	for _, f := range faults {
		longest[f.Kind] = max(longest[f.Kind], f.To-f.From)
	}
	n := count(faults, func(f timeline.Fault) string { return f.Kind })
	for _, kind := range sortedKeys(n) {
		rows = append(rows, []string{kind, fmt.Sprint(n[kind]), fmt.Sprint(ms(longest[kind]))})
	}
	return rows
}

func (s *storm) writes(h history.History) [][]string {
	rows := [][]string{{"register", "applied", "stale, refused", "outcome unknown", "failed otherwise", "reads"}}
	for _, name := range sortedKeys(registers) {
		outcomes, reads := make(map[history.Outcome]int), 0
		for _, o := range h.Ops {
			switch {
			case o.Resource != s.root+name:
			case o.Kind == history.Write:
				outcomes[o.Outcome]++
			case o.Kind == history.Read && o.Outcome == history.Applied:
				reads++
			}
		}
		row := []string{name}
		for _, o := range []history.Outcome{history.Applied, history.Refused, history.Unknown, history.Failed} {
			row = append(row, fmt.Sprint(outcomes[o]))
		}
		rows = append(rows, append(row, fmt.Sprint(reads)))
	}
	return rows
}

// succession is how close the next exclusive grant came to the end of a belief
// that was not given up.
func (s *storm) succession(holds []history.Hold) (least time.Duration, lost int) {
	last := make(map[string]history.Hold)
	least = time.Hour
	for _, h := range holds {
		if h.Mode != history.Exclusive {
			continue
		}
		if before, ok := last[h.Path]; ok && (before.End == 0 || before.End > before.Until) && before.Deleted == 0 {
			lost++
			least = min(least, h.From-before.Believed())
		}
		last[h.Path] = h
	}
	return least, lost
}

// outage is the longest time without a grant while faults were on, and when it
// began.
func (s *storm) outage(holds []history.Hold) (longest, at time.Duration) {
	last := s.begin
	for _, h := range holds {
		if h.From-last > longest {
			longest, at = h.From-last, last-s.begin
		}
		last = h.From
	}
	return longest, at
}

// longestWait is that of one that was served after an instant, counted from there.
func longestWait(waits []history.Wait, after time.Duration) (longest time.Duration) {
	for _, w := range waits {
		if w.Served > after {
			longest = max(longest, w.Served-max(w.Asked, after))
		}
	}
	return longest
}

// draw shows the minute in which most kinds of faults struck.
func (s *storm) draw(report *proof.Report, h history.History) {
	faults := s.faults()
	from, most := s.begin, 0
	for _, f := range faults {
		kinds := count(slices.DeleteFunc(slices.Clone(faults), func(g timeline.Fault) bool {
			return g.From < f.From || g.From > f.From+shown
		}), func(g timeline.Fault) string { return g.Kind })
		if len(kinds) > most && f.From+shown <= s.end {
			from, most = f.From, len(kinds)
		}
	}
	for i := range h.Holds {
		h.Holds[i].Path = strings.TrimPrefix(h.Holds[i].Path, s.root)
	}
	var svg bytes.Buffer
	require.NoError(s.t, timeline.Picture{
		Title: fmt.Sprintf("Who held what while which fault was on: a minute, from %v into the storm", ms(from-s.begin)),
		Holds: h.Holds, Faults: faults, From: from, To: from + shown,
	}.Write(&svg))
	report.Attach("svg", svg.Bytes())
}

// keep writes the record down where it can be looked at later.
func (s *storm) keep(h history.History) string {
	f, err := os.CreateTemp("", "chaos-*.json")
	require.NoError(s.t, err)
	defer f.Close()
	enc := json.NewEncoder(f)
	enc.SetIndent("", " ")
	require.NoError(s.t, enc.Encode(struct {
		Seed              uint64
		Begin, Quiet, End time.Duration
		Faults            []timeline.Fault
		History           history.History
	}{s.seed, s.begin, s.quiet, s.end, s.faults(), h}))
	return f.Name()
}
