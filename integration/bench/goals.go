package bench

import (
	"fmt"
	"strings"
	"time"
)

// judge compares what was found with what was to be reached.
func (r *result) judge(s size) {
	for _, storage := range []string{onDisk, onTmpfs} {
		r.judgeIdle(storage)
		r.judgeHandOver(storage, s.contenders)
	}
	r.judgeMany(s)
}

func (r *result) goal(storage, what string, limit, measured float64) {
	r.Goals = append(r.Goals, goal{storage, what, limit, measured, measured <= limit})
}

func (r *result) judgeIdle(storage string) {
	mine, ok := r.find(storage, idleCase, ours.title, 0)
	if !ok {
		return
	}
	r.goal(storage, "acquire + release of an idle lock, with its token, over a bare create + delete", 1.10, mine.Ratio)
	if own, ok := r.find(storage, idleCase, ownFloorTitle, 0); ok {
		r.goal(storage, "the same over a bare create + delete on a session of this library", 1.10, float64(mine.P50)/float64(own.P50))
	}
	for _, e := range locks[2:] {
		if peer, ok := r.find(storage, idleCase, e.title, 0); ok && e.program != etcd {
			r.goal(storage, "the same over "+e.title, 1, float64(mine.P50)/float64(peer.P50))
		}
	}
	if try, ok := r.find(storage, tryCase, ours.title, 0); ok {
		r.goal(storage, "requests of a TryLock that fails", 1, try.Requests)
	}
}

func (r *result) judgeHandOver(storage string, contenders []int) {
	for _, n := range contenders {
		if mine, ok := r.find(storage, handCase, ours.title, n); ok {
			r.goal(storage, fmt.Sprintf("hand-over among %d over delete, watch event and one read", n), 1.3, mine.Ratio)
		}
	}
	few, most := contenders[0], contenders[len(contenders)-1]
	a, _ := r.find(storage, handCase, ours.title, few)
	b, ok := r.find(storage, handCase, ours.title, most)
	if ok {
		r.goal(storage, fmt.Sprintf("growth of a hand-over from %d to %d contenders over that of the floor", few, most), 1.1, b.Ratio/a.Ratio)
	}
	if term, ok := r.find(storage, resignCase, ourTerm.title, few); ok {
		mutex, _ := r.find(storage, resignCase, ours.title, few)
		r.goal(storage, "failover by resignation over a hand-over", 2, float64(term.P50)/float64(mutex.P50))
	}
}

func (r *result) judgeMany(s size) {
	one := func(name, what, title string, n int, limit float64) {
		if v, ok := r.fact(onTmpfs, name, ours.title, what, n); ok {
			r.goal(onTmpfs, title, limit, v)
		}
	}
	n := s.many
	one(holdCase, "memory of each", fmt.Sprintf("%d locks held in one process: bytes of its heap for each", n), n, 1024)
	one(holdCase, "goroutines of each", fmt.Sprintf("%d locks held in one process: goroutines for each", n), n, 0.001)
	half := (sessionTimeout / 2).Seconds()
	one(reconnectCase, "sessions proven again after", fmt.Sprintf("reconnect with %d leases and %d waiters: seconds until all sessions are proven again, T/2 at most", n, s.waiters), n, half)
	one(reconnectCase, "all watches back after", "the same until all watches are back", n, half)
	one(reconnectCase, "largest request", "the same: bytes of the largest request, jute.maxbuffer at most", n, 1<<20-1)
}

// ahead names the entrants that are ahead of this library's, case by case.
func (r *result) ahead() (lines []string) {
	mine := map[string]string{}
	for _, w := range r.Rows {
		if strings.HasPrefix(w.Entrant, "zkrecipes ") {
			key := fmt.Sprint(w.Storage, w.Case, w.Contenders)
			if mine[key] == "" || w.Entrant == ourTerm.title && w.Case == resignCase {
				mine[key] = w.Entrant
			}
		}
	}
	for _, w := range r.Rows {
		own := mine[fmt.Sprint(w.Storage, w.Case, w.Contenders)]
		if w.Case == idleCase && strings.Contains(w.Entrant, "lection") || strings.Contains(w.Entrant, "Latch") {
			own = ourTerm.title
		}
		m, ok := r.find(w.Storage, w.Case, own, w.Contenders)
		if ok && w.Entrant != theFloor.title && w.Entrant != ownFloorTitle && !strings.HasPrefix(w.Entrant, "zkrecipes") && w.P50 < m.P50 {
			lines = append(lines, fmt.Sprintf("%s, %s: %s takes %v, %s %v.",
				w.Storage, w.title(), w.Entrant, short(w.P50), m.Entrant, short(m.P50)))
		}
	}
	return lines
}

func (w row) title() string {
	if w.Contenders == 0 {
		return w.Case
	}
	return fmt.Sprintf("%s, %d contenders", w.Case, w.Contenders)
}

func short(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
