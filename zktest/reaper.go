package zktest

import (
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// watchReapable has the leader look for containers and znodes with a time to
// live, as long as there are any.
func (s *Server) watchReapable() {
	if s.reaper != nil || len(s.leader.tree.reapable) == 0 {
		return
	}
	s.reaper = s.clock.after(s.cfg.reapEvery, func() {
		s.reaper = nil
		if !s.down {
			s.reap()
		}
		s.watchReapable()
	})
}

// reap deletes what is empty and was used, or is past its time.
func (s *Server) reap() {
	now := time.Now().UnixMilli()
	for _, path := range slices.Sorted(maps.Keys(s.leader.tree.reapable)) {
		if s.leader.tree.nodes[path].reapable(now) {
			s.log.add(entry{kind: "reaped", path: path})
			s.commit(&txn{op: jute.OpDeleteContainer, changes: []change{{op: jute.OpDeleteContainer, path: path}}})
		}
	}
}

func (n *node) reapable(now int64) bool {
	switch {
	case len(n.children) > 0:
		return false
	case ownerKind(n.owner) == ownerContainer:
		// One that never had a child is spared: it has just been made.
		return n.cversion > 0
	}
	return now-n.mtime > n.owner&maxTTL
}
